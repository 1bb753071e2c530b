// The camera: what it sees, where it starts, how it fits; poses between frames; arrows; rays; labels.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Vec3 } from "../src/protocol";
import { basisOf, emptySight, fitEye, floorHeight, mixEye, orbited, outline, positionOf, reachOf, see, sightFrom, sightOf,
    startView } from "../src/view/eye";
import { forceLength, forceText, torqueRadius, weightOf } from "../src/view/forces";
import { chooseLabels, type Label } from "../src/view/labels";
import { dot, FRAME, frameAlong, framesOf, length, mixPoses, multiplyFrames, place, sub, unplace } from "../src/view/math";
import { comesNear, enter, rayIn } from "../src/view/pick";
import { body, mechanism, poses } from "./view_sample";

const near = (a: number, b: number, tolerance = 1e-6): void => assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);
const close = (a: Vec3, b: Vec3, tolerance = 1e-6): void => assert.ok(length(sub(a, b)) < tolerance, `${a} is not ${b}`);

test("a fitted eye has everything in the picture, in the middle, and fills it", () => {
    const sight = emptySight();
    for (const [x, y, z, r] of [[0, 0, 0, 0.5], [7, 1, 2, 0.1], [3, -4, 5, 1]]) see(sight, [x, y, z], r);
    for (const [width, height] of [[1200, 800], [390, 844]]) for (const elevation of [-1, 0, 0.4, 1.5]) {
        const { low, high } = outline(sight.balls, fitEye(sight, 0.7, elevation, width, height), width, height);
        for (let k = 0; k < 2; ++k) near(low[k] + high[k], 0, 0.1);
        const fill = Math.max(high[0] - low[0], high[1] - low[1]) / 2;
        assert.ok(fill > 0.7 && fill < 0.9, String(fill));
    }
});

test("one ball without size does not break the eye", () => {
    const sight = emptySight();
    see(sight, [1, 2, 3], 0);
    const eye = fitEye(sight, 0, 0, 800, 600);
    assert.ok(Number.isFinite(eye.distance) && eye.distance > 0);
    close(eye.target, [1, 2, 3], 1e-3);
});

test("flat mechanisms are seen from their broad side", () => {
    const of = (size: Vec3): { azimuth: number; elevation: number } => {
        const sight = emptySight();
        see(sight, [0, 0, 0], 0);
        see(sight, size, 0);
        return startView(sight);
    };
    const facing = (size: Vec3): Vec3 => basisOf({ ...of(size), distance: 1, target: [0, 0, 0] }).back;
    assert.ok(Math.abs(facing([1, 0, 1])[1]) > 0.9);
    assert.ok(Math.abs(facing([0, 1, 1])[0]) > 0.9);
    assert.ok(facing([1, 1, 0])[2] > 0.9);
    assert.ok(Math.max(...facing([1, 1, 1]).map(Math.abs)) < 0.9);
});

test("what is not finite is not seen, and nothing at all is a unit ball", () => {
    const sight = sightOf([[0, [0, 0, 0], 1]], [poses([NaN, 0, 0])]);
    close(sight.high, [1, 1, 1]);
    assert.equal(reachOf(sight), Math.sqrt(3));
});

test("a floor that is not in the scene is at zero, or below everything", () => {
    const of = (low: number): number => {
        const sight = emptySight();
        see(sight, [0, 0, low], 0);
        see(sight, [1, 1, low + 1], 0);
        return floorHeight(sight);
    };
    assert.equal(of(0), 0);
    assert.equal(of(0.5), 0);
    assert.ok(of(-3) < -3);
    assert.ok(of(40) < 40 && of(40) > 39);
});

test("one who goes with what travels sees it no larger than it is", () => {
    const samples = [poses([0, 0, 0]), poses([50, 0, 0]), poses([100, 0, 0])], balls: [number, Vec3, number][] = [[0, [0, 0, 0], 1]];
    near(reachOf(sightFrom(balls, samples)), Math.sqrt(3));
    assert.ok(reachOf(sightOf(balls, samples)) > 50);
});

test("an eye goes to another by the shorter way, and never over the top", () => {
    const eye = { azimuth: 3, elevation: 0, distance: 1, target: [0, 0, 0] as Vec3 };
    near(mixEye(eye, { ...eye, azimuth: -3 }, 0.5).azimuth, Math.PI);
    near(mixEye(eye, { ...eye, distance: 4 }, 0.5).distance, 2);
    assert.ok(orbited(eye, 0, 9).elevation < Math.PI / 2);
    const { back, right, up } = basisOf(orbited(eye, 1, 0.5));
    for (const [a, b] of [[back, right], [right, up], [up, back]]) near(dot(a, b), 0);
    close(positionOf({ ...eye, azimuth: 0 }), [1, 0, 0]);
});

test("poses between frames go the shorter way and stay unit", () => {
    const a = Float32Array.of(0, 0, 0, 1, 0, 0, 0), b = Float32Array.of(2, 0, 0, -Math.SQRT1_2, 0, 0, -Math.SQRT1_2),
        out = new Float32Array(7);
    mixPoses(out, a, b, 0.5);
    near(out[0], 1);
    near(Math.hypot(...out.subarray(3)), 1);
    near(out[3], Math.cos(Math.PI / 8), 1e-6);
    near(out[6], Math.sin(Math.PI / 8), 1e-6);
    mixPoses(out, a, null, 0.7);
    assert.deepEqual([...out], [...a]);
});

test("frames, poses and matrices agree on where a point is", () => {
    const q = [0.5, -0.1, 0.7, 0.5].map((x) => x / Math.hypot(0.5, 0.1, 0.7, 0.5)), at = Float32Array.of(1, 2, 3, ...q),
        frames = new Float32Array(2 * FRAME), matrix = new Float32Array(16);
    framesOf(frames, at);
    multiplyFrames(matrix, 0, frames, FRAME, Float32Array.from(frameAlong([4, 5, 6], [0, 0, 1], [1, 1, 1], [1, 0, 0])), 0);
    close([matrix[12], matrix[13], matrix[14]], place(at, 0, [4, 5, 6]), 1e-5);
    close(unplace(at, 0, place(at, 0, [4, 5, 6])), [4, 5, 6], 1e-5);
    multiplyFrames(matrix, 0, frames, 0, frames, FRAME); // on the ground
    close([matrix[12], matrix[13], matrix[14]], [1, 2, 3]);
});

test("arrows grow with the force, never out of the picture, and none is nothing", () => {
    const forces = [1e-3, 1, 10, 1e4, 1e9].map((f) => forceLength(f, 10, 2));
    for (let i = 1; i < forces.length; ++i) assert.ok(forces[i] > forces[i - 1]);
    assert.ok(forces[4] <= 2.5);
    near(forceLength(10, 10, 2), 0.5 / 1.2);
    near(forceLength(100, 1e6, 2) / forceLength(1e4, 1e6, 2), 0.1, 0.003); // by the root
    assert.equal(forceLength(0, 10, 2), 0);
    assert.equal(forceLength(NaN, 10, 2), 0);
    assert.ok(Number.isFinite(forceLength(Infinity, 10, 2)));
    assert.ok(torqueRadius(20, 10, 2) > 0);
});

test("the weight is of what moves; without any it is one", () => {
    assert.equal(weightOf(mechanism([body("a", [], { mass: 2 }), body("b", [], { mass: 5, kind: "static" }),
        body("c", [], { mass: Infinity })])), 20);
    assert.equal(weightOf(mechanism([])), 1);
});

test("forces are told with three digits", () => {
    assert.deepEqual([12.345, 1234, 0.0012345, 3.2e6].map(forceText), ["12.3 N", "1.23 kN", "0.00123 N", "3.2 MN"]);
});

test("rays meet the exact forms", () => {
    const down: Vec3 = [0, 0, -1], from = (x: number, y: number): Vec3 => [x, y, 10];
    near(enter("ball", 0, null, from(0, 0), down), 9);
    near(enter("ball", 0, null, from(0.6, 0), down), 9.2);
    assert.equal(enter("ball", 0, null, from(1.1, 0), down), Infinity);
    near(enter("box", 0, null, from(0.9, -0.9), down), 9);
    assert.equal(enter("box", 0, null, from(1.1, 0), down), Infinity);
    near(enter("rod", 3, null, from(0, 0), down), 6);
    near(enter("rod", 3, null, [5, 0, 2], [-1, 0, 0]), 4);
    near(enter("drum", 3, null, from(0.9, 0), down), 7);
    assert.equal(enter("drum", 3, null, [5, 0, 3.5], [-1, 0, 0]), Infinity);
    const triangle = Float32Array.of(0, 0, 1, 2, 0, 1, 0, 2, 1);
    near(enter("solid0", 0, triangle, from(0.5, 0.5), down), 9);
    assert.equal(enter("solid0", 0, triangle, from(1.5, 1.5), down), Infinity);
    assert.equal(enter("ball", 0, null, [0, 0, -10], down), Infinity); // behind
});

test("a ray in the frame of a piece keeps its parameter", () => {
    const matrix = new Float32Array(16), frames = new Float32Array(FRAME);
    framesOf(frames, new Float32Array(0));
    multiplyFrames(matrix, 0, frames, 0, Float32Array.from(frameAlong([5, 0, 0], [1, 0, 0], [0.5, 0.5, 2])), 0);
    const inside = rayIn(matrix, 0, { origin: [0, 0, 0], direction: [1, 0, 0] })!;
    near(enter("ball", 0, null, inside.o, inside.d), 3);
    assert.equal(rayIn(new Float32Array(16), 0, { origin: [0, 0, 0], direction: [1, 0, 0] }), null);
});

test("what a ray does not come near is left out, never what it meets", () => {
    const ray = { origin: [0, 0, 0] as Vec3, direction: [1, 0, 0] as Vec3 };
    assert.ok(comesNear(ray, 5, 0.9, 0, 1));
    assert.ok(!comesNear(ray, 5, 1.1, 0, 1));
    assert.ok(!comesNear(ray, -5, 0, 0, 1));
    assert.ok(comesNear(ray, -0.5, 0, 0, 1));
});

test("labels do not cover each other, and the first ones win", () => {
    const label = (text: string, x: number, y: number): Label => ({ text, x, y, tone: "body" });
    assert.deepEqual(chooseLabels([label("first", 0, 0), label("covered", 10, 5), label("below", 0, 30), label("aside", 200, 0)],
        60).map(({ text }) => text), ["first", "below", "aside"]);
    assert.equal(chooseLabels([label("a", 0, 0), label("b", 0, 99), label("c", 0, 199)], 2).length, 2);
});
