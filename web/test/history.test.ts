// The frames there are: order, bounds, and which one is before a time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { History } from "../src/history";
import { place, trail } from "../src/points";
import { decodeFrame, type Frame, type Mechanism } from "../src/protocol";
import { makeFrame, makeMechanism } from "./sample.mjs";

const frame = (time: number, over = {}): Frame => decodeFrame(makeFrame({ time, ...over })) as Frame;
const times = (history: History): number[] => Array.from({ length: history.count }, (_, i) => history.at(i).time);

test("an empty history", () => {
    const history = new History();
    assert.deepEqual([history.count, history.start, history.end, history.last], [0, 0, 0, null]);
    assert.deepEqual(history.find(3), { index: 0, mix: 0 });
});

test("the ring keeps the newest frames within its count", () => {
    const history = new History(Infinity, 3);
    for (let i = 0; i < 100; ++i) {
        history.push(frame(i));
        assert.deepEqual(times(history), [i - 2, i - 1, i].filter((time) => time >= 0));
    }
});

test("the ring keeps the newest frames within its bytes, at least one", () => {
    const one = frame(0).bytes + 1024, history = new History(4.5 * one);
    for (let i = 0; i < 50; ++i) history.push(frame(i));
    assert.deepEqual(times(history), [46, 47, 48, 49]);
    for (let i = 0; i < 20; ++i) history.push(frame(49)); // the same moment again costs nothing
    assert.deepEqual(times(history), [46, 47, 48, 49]);
    const tiny = new History(1);
    tiny.push(frame(0));
    tiny.push(frame(1));
    assert.deepEqual(times(tiny), [1]);
});

test("time that runs backwards begins anew; the same time replaces; no time is refused", () => {
    const history = new History();
    for (const time of [0, 1, 2]) history.push(frame(time));
    history.push(frame(2, { kinetic: 7 }));
    assert.deepEqual(times(history), [0, 1, 2]);
    assert.equal(history.last?.kinetic, 7);
    history.push(frame(NaN));
    assert.deepEqual(times(history), [0, 1, 2]);
    history.push(frame(0.5));
    assert.deepEqual(times(history), [0.5]);
    history.push(frame(0.75, { bodies: 9 })); // other bodies: another mechanism
    assert.deepEqual(times(history), [0.75]);
});

test("the frame before a time, and the way to the next", () => {
    const history = new History(), at = [0, 0.1, 0.5, 0.75, 2];
    for (const time of at) history.push(frame(time));
    assert.deepEqual(history.find(-1), { index: 0, mix: 0 });
    assert.deepEqual(history.find(99), { index: 4, mix: 0 });
    at.forEach((time, index) => assert.deepEqual(history.find(time), { index, mix: 0 }));
    assert.deepEqual(history.find(0.625), { index: 2, mix: 0.5 });
    for (let time = 0; time < 2; time += 0.0137) { // against plain search
        const { index, mix } = history.find(time);
        assert.ok(at[index] <= time && time < at[index + 1]);
        assert.ok(Math.abs(at[index] + mix * (at[index + 1] - at[index]) - time) < 1e-12);
    }
});

test("a point of a body turns with it", () => {
    const one = frame(0, { bodies: 1 }), half = Math.SQRT1_2;
    one.poses.set([1, 2, 3, half, 0, 0, half]); // a quarter about z
    place(one, 0, [1, 0, 5]).forEach((x, k) => assert.ok(Math.abs(x - [1, 3, 8][k]) < 1e-6));
    assert.deepEqual(place(one, -1, [4, 5, 6]), [4, 5, 6]);
});

test("a joint's trail is where both of its bodies have it", () => {
    const history = new History(), mechanism = makeMechanism(3) as Mechanism;
    for (let i = 0; i < 30; ++i) history.push(frame(i / 10));
    const points = trail(mechanism, 1, history);
    assert.equal(points.length, 30);
    points.forEach((point, i) => place(history.at(i), 0, [0, 0, -0.25]).forEach((x, k) => assert.ok(Math.abs(x - point[k]) < 1e-6)));
    assert.deepEqual(trail({ ...mechanism, joints: [null] }, 0, history), []);
});
