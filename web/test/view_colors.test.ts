// The view's colours: roles of bodies and the scale of errors.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Body, Shape } from "../src/protocol";
import { bodyColors, errorColor, errorRgb, roleOf } from "../src/view/colors";

const ball: Shape = { type: "sphere", position: [0, 0, 0], orientation: [1, 0, 0, 0], size: [1] };
const body = (name: string, kind: Body["kind"] = "rigid", shapes: Shape[] = []): Body => ({ name, kind, mass: 1, com: [0, 0, 0], shapes });

test("names that differ in numbers and sides have one role", () => {
    assert.equal(roleOf(body("left_arm1")), roleOf(body("right_arm2")));
    assert.equal(roleOf(body("p3_L_hand")), roleOf(body("p12_r_hand")));
    assert.notEqual(roleOf(body("arm")), roleOf(body("leg")));
    assert.notEqual(roleOf(body("arm")), roleOf(body("arm", "rigid", [ball])));
});

test("a side is a word of its own, not a letter of one", () => {
    assert.notEqual(roleOf(body("lever")), roleOf(body("ever")));
});

test("a role has one hue, and what is static none", () => {
    const colors = bodyColors([body("arm1"), body("arm2"), body("leg1"), body("bed", "static")]);
    const hue = (i: number): number => colors[i]![0] / colors[i]![2];
    assert.ok(Math.abs(hue(0) - hue(1)) < 1e-9);
    assert.ok(Math.abs(hue(0) - hue(2)) > 0.1);
    assert.equal(colors[3], null);
});

test("where all have one role, neighbours still differ", () => {
    const colors = bodyColors([body("link1"), body("link2")]);
    assert.notDeepEqual(colors[0], colors[1]);
});

test("errors are green, yellow and red at 1e-9, 1e-6 and 1e-3", () => {
    assert.equal(errorColor(0), errorColor(1e-9));
    assert.equal(errorColor(1e-3), errorColor(7));
    const [green, yellow, red] = [1e-9, 1e-6, 1e-3].map(errorRgb);
    assert.ok(green[1] > 1.5 * green[0] && red[0] > 2 * red[1] && yellow[0] > 0.8 && yellow[1] > 0.6);
    assert.deepEqual(errorRgb(1e-6), errorRgb(-1e-6));
});

test("errors go by powers of ten in between", () => {
    const low = errorRgb(1e-9), mid = errorRgb(10 ** -7.5), high = errorRgb(1e-6);
    for (let k = 0; k < 3; ++k) assert.ok(Math.abs(mid[k] - (low[k] + high[k]) / 2) < 1e-6);
});

test("an error that is not a number is bad", () => {
    assert.equal(errorColor(NaN), errorColor(1));
    assert.equal(errorColor(Infinity), errorColor(1));
});
