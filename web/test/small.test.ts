// The small things: decimation, throttling, scales, links, numbers, origins.
import assert from "node:assert/strict";
import { test } from "node:test";
import { decimate } from "../src/decimate";
import { caretAt } from "../src/editor";
import { packScene, readFragment, unpackScene } from "../src/fragment";
import { clock, duration, many, short } from "../src/format";
import { defaultOf, originOf, readOrigin } from "../src/gallery";
import { linear, logarithmic, logarithmicOrZero, whole } from "../src/scale";
import { Throttle } from "../src/throttle";

test("few points are all kept", () => {
    assert.deepEqual(decimate(1, 4, (i) => i / 2, [(i) => i, (i) => i === 2 ? NaN : null], 10), [[0.5, 1, 1.5], [1, 2, 3], [null, null, null]]);
    assert.deepEqual(decimate(5, 5, (i) => i, [(i) => i], 10), [[], []]);
});

test("many points become few, in order, with every peak", () => {
    const y = (i: number): number => i === 7777 ? 50 : i === 31234 ? -50 : Math.sin(i / 1000), [x, column] = decimate(0, 100000, (i) => i, [y], 300);
    assert.ok(x.length <= 600 && x.length === column.length);
    assert.deepEqual([Math.max(...column as number[]), Math.min(...column as number[])], [50, -50]);
    for (let i = 1; i < x.length; ++i) assert.ok(x[i] > x[i - 1]);
    assert.deepEqual([x[0], x[x.length - 1]], [0, 99999]);
    const peak = x[column.indexOf(50)];
    assert.ok(Math.abs(peak - 7777) < 100000 / 300);
});

test("gaps stay gaps", () => {
    const [, column] = decimate(0, 10000, (i) => i, [(i) => i < 5000 ? null : 1], 100);
    assert.deepEqual([column[0], column[99], column[100], column[199]], [null, null, 1, 1]);
});

test("the first value goes at once, the last one always, few in between", () => {
    const got: number[] = [], timers: (() => void)[] = [], throttle = new Throttle<number>(100, (value) => got.push(value), (act) => timers.push(act));
    for (let i = 0; i < 50; ++i) throttle.push(i);
    assert.deepEqual(got, [0]);
    timers.shift()?.();
    assert.deepEqual(got, [0, 49]);
    throttle.push(50);
    assert.deepEqual(got, [0, 49], "still within the time");
    timers.shift()?.();
    timers.shift()?.();
    assert.deepEqual([got, timers.length], [[0, 49, 50], 0], "then it is quiet");
    throttle.push(51);
    assert.deepEqual(got, [0, 49, 50, 51], "and ready");
});

test("scales give back what they were given", () => {
    for (const [scale, values] of [[linear(-20, 20), [-20, -9.81, 0, 20]], [linear(-Math.PI, Math.PI), [-1.571, 0, 3.141]], [logarithmic(1e-4, 0.1), [1e-4, 0.0025, 0.01, 0.1]],
        [logarithmicOrZero(0.01, 1e6), [0, 0.01, 3.5, 1e6]], [whole(1, 300), [1, 20, 300]]] as const) {
        for (const value of values) assert.equal(scale.value(scale.place(value)), value);
        assert.deepEqual([scale.place(-1e9), scale.place(1e9)], [0, 1]);
    }
    assert.equal(logarithmicOrZero(0.01, 1).value(0.02), 0);
    assert.equal(whole(1, 10).value(0.5), 6);
    assert.equal(linear(3, 3).place(3), 0);
});

test("what a link asks for", () => {
    const asked = readFragment("#bare&t=1.5&trail=tip&trail=a%20b&from=-1.05,0.35&overlays=error,forces&theme=dark&play");
    assert.deepEqual(asked, { time: 1.5, bare: true, plain: false, play: true, trails: ["tip", "a b"], from: [-1.05, 0.35], overlays: ["error", "forces"], theme: "dark", builtin: null, packed: null });
    assert.deepEqual(readFragment(""), { time: null, bare: false, plain: false, play: false, trails: [], from: null, overlays: null, theme: null, builtin: null, packed: null });
    assert.equal(readFragment("#s=@chain:n=20,joint=ball,x=1e+3").builtin, "@chain:n=20,joint=ball,x=1e+3");
    const odd = readFragment("#t=soon&from=1&theme=pink&s=rm%20-rf&overlays=");
    assert.deepEqual([odd.time, odd.from, odd.theme, odd.builtin, odd.overlays], [0, null, null, null, []]);
});

const raw = ((): boolean => { try { return Boolean(new CompressionStream("deflate-raw")); } catch { return false; } })();

test("a scene in a link comes back", { skip: !raw && "this node cannot deflate" }, async () => {
    for (const text of ["", "{}", `{"name": "b\u00fcgel \u{1f980}"}`, "x".repeat(100000), Array.from({ length: 5000 }, (_, i) => String(i * 7919 % 1000)).join(" ")]) {
        const packed = await packScene(text);
        assert.match(packed, /^[\w-]*$/);
        assert.equal(await unpackScene(packed), text);
    }
    assert.ok((await packScene("x".repeat(100000))).length < 1000);
});

test("a damaged link is refused, and so is one that unpacks to very much", { skip: !raw && "this node cannot deflate" }, async () => {
    const packed = await packScene(`{"tenon_scene": 1, "bodies": [1, 2, 3, 4, 5]}`);
    for (const bad of ["%%%", "AAAA", packed.slice(0, 10), "_" + packed]) await assert.rejects(unpackScene(bad), undefined, bad);
    await assert.rejects(unpackScene(await packScene(" ".repeat(9 << 20))), /too large/);
});

test("numbers as people read them", () => {
    assert.deepEqual([0, 1.23456, -3, 1e-13, 123456, NaN, 0.001].map((x) => short(x)), ["0", "1.235", "-3", "1.0e-13", "1.23e5", "\u2013", "0.001"]);
    assert.deepEqual([2, 0.0123, 4.56e-6].map(duration), ["2 s", "12.3 ms", "4.56 \u00b5s"]);
    assert.deepEqual([clock(1.5), clock(123), many(1, "joint"), many(2, "body", "bodies")], ["1.500", "123.00", "1 joint", "2 bodies"]);
});

test("origins of built-in scenes say only what is not as usual", () => {
    const scene = { name: "chain", help: "", params: [
        { name: "n", help: "", value: 10, lower: 1, upper: 100, whole: true, words: null }, { name: "joint", help: "", value: 1, lower: 0, upper: 1, whole: true, words: ["ball", "hinge"] }] };
    assert.equal(defaultOf(scene.params[1]), "hinge");
    assert.equal(originOf(scene, {}), "@chain");
    assert.equal(originOf(scene, { n: "10", joint: "hinge" }), "@chain");
    assert.equal(originOf(scene, { n: "20", joint: "ball" }), "@chain:n=20,joint=ball");
    assert.deepEqual(readOrigin("@chain:n=20,joint=ball"), { name: "chain", values: { n: "20", joint: "ball" } });
    assert.deepEqual(readOrigin("@chain"), { name: "chain", values: {} });
});

test("line and column in a text", () => {
    const text = "ab\ncde\n\nf";
    assert.deepEqual([caretAt(text, 1, 1), caretAt(text, 2, 3), caretAt(text, 3, 9), caretAt(text, 4, 1), caretAt(text, 99, 99)], [0, 5, 7, 8, 9]);
});
