// What bodies and joints look like: shapes, bones, strings, marks, bearings, ropes.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Vec3 } from "../src/protocol";
import { layoutJoints } from "../src/view/joints";
import { length, sub } from "../src/view/math";
import { bonesOf, grainOf, layoutBodies, type Piece, reachAlong, sightsOf, sizesOf } from "../src/view/pieces";
import { ROPE_PIECES, ropePoint, strandsOf } from "../src/view/strands";
import { body, joint, mechanism, poses, shape } from "./view_sample";

const WHITE: Vec3 = [1, 1, 1];
const origin = (piece: Piece): Vec3 => piece.frame.slice(9) as Vec3;
const close = (a: Vec3, b: Vec3): void => assert.ok(length(sub(a, b)) < 1e-6, `${a} is not ${b}`);

test("two joints make one rod, more make rods to the middle", () => {
    assert.deepEqual(bonesOf(body("b"), [[1, 0, 0], [-1, 0, 0]]), [[[1, 0, 0], [-1, 0, 0]]]);
    const three = bonesOf(body("b"), [[3, 0, 0], [0, 3, 0], [0, 0, 3]]);
    assert.equal(three.length, 3);
    close(three[0][1], [1, 1, 1]);
});

test("one joint makes a rod to the centre of mass, none makes none", () => {
    assert.deepEqual(bonesOf(body("b", [], { com: [0, 0, 1] }), [[0, 0, 0]]), [[[0, 0, 0], [0, 0, 1]]]);
    assert.deepEqual(bonesOf(body("b"), []), []);
});

test("two joints at one place count as one", () => {
    assert.deepEqual(bonesOf(body("b", [], { com: [0, 0, 1] }), [[0, 0, 0], [0, 0, 0]]), [[[0, 0, 0], [0, 0, 1]]]);
});

test("a capsule is a rod as thick as its radius and as long as it is", () => {
    const { pieces } = layoutBodies(mechanism([body("b", [shape("capsule", [0.1, 0.5])])]), [WHITE], 1);
    assert.equal(pieces.length, 1);
    assert.equal(pieces[0].form, "rod");
    assert.ok(Math.abs(pieces[0].span - 5) < 1e-12 && Math.abs(pieces[0].frame[0] - 0.1) < 1e-12);
});

test("a ball that hangs on a joint far from it has a string that ends at its surface", () => {
    const m = mechanism([body("b", [shape("sphere", [0.1])])], [joint("ball", [-1, 0], [[0, 0, 1], [0, 0, 1]])]);
    const string = layoutBodies(m, [WHITE], 1).pieces.find((piece) => piece.form === "pin")!;
    close(origin(string), [0, 0, 0.55]);
    assert.ok(Math.abs(string.span * Math.hypot(...string.frame.slice(6, 9)) - 0.45) < 1e-9);
});

test("equal solids are made once", () => {
    const points: Vec3[] = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
        layout = layoutBodies(mechanism([body("a", [shape("convex", points)]), body("b", [shape("convex", points)])]), [WHITE, WHITE], 1);
    assert.equal(layout.solids.length, 1);
    assert.deepEqual(layout.pieces.map((piece) => piece.form), ["solid0", "solid0"]);
});

test("a body without shapes and joints is a ball; a static one is nothing; a plane has no piece", () => {
    const m = mechanism([body("free"), body("still", [], { kind: "static" }), body("floor", [shape("plane", [])], { kind: "static" })]),
        layout = layoutBodies(m, [WHITE, WHITE, WHITE], 1);
    assert.deepEqual(layout.pieces.map((piece) => [piece.form, piece.owner]), [["ball", 0]]);
    assert.equal(layout.plates.length, 1);
});

test("a shape without points is left out, and a centre of mass that is no number is the origin", () => {
    const broken = body("b", [shape("convex", [])], { com: [NaN, NaN, NaN] }), layout = layoutBodies(mechanism([broken]), [WHITE], 1);
    for (const piece of layout.pieces) assert.ok(piece.frame.every(Number.isFinite));
    for (const [, p] of sightsOf(mechanism([broken]))) assert.ok(p.every(Number.isFinite));
});

test("how far a body reaches from a joint is by the shape that has the joint inside", () => {
    const b = body("b", [shape("box", [1, 2, 3]), shape("sphere", [9], [100, 0, 0])]);
    assert.equal(reachAlong(b, [0, 0, 0], [0, 1, 0]), 2);
    assert.equal(reachAlong(b, [0, 1, 0], [0, 1, 0]), 3);
    assert.equal(reachAlong(b, [50, 0, 0], [0, 1, 0]), 0);
});

test("the grain is the middle body's size, without what stands still", () => {
    const m = mechanism([body("a", [shape("box", [1, 0, 0])]), body("b", [shape("box", [2, 0, 0])]),
        body("c", [shape("box", [50, 0, 0])]), body("d", [shape("box", [999, 0, 0])], { kind: "static" })]);
    assert.equal(grainOf(m, sizesOf(m)), 2);
});

const rod = (more = {}): ReturnType<typeof body> => body("rod", [shape("capsule", [0.05, 0.5])], more);
const marksOf = (type: string, more = {}): { marks: Piece[]; bearings: Piece[] } => {
    const m = mechanism([rod()], [joint(type, [-1, 0], [[0, 0, 0], [0, 0, 0.5]], more)]);
    return layoutJoints(m, [poses([0, 0, -0.5])], sizesOf(m), 1, WHITE);
};

test("a hinge's pin lies along its axis and sticks out of the rod", () => {
    const { marks } = marksOf("hinge"), [pin] = marks, z = pin.frame.slice(6, 9);
    assert.deepEqual(marks.map((piece) => piece.form), ["pin"]);
    assert.ok(Math.abs(z[0]) < 1e-12 && Math.abs(z[2]) < 1e-12);
    assert.ok(pin.span * Math.abs(z[1]) > 0.05);
});

test("every type that has a place has a mark, all numbers finite", () => {
    for (const type of ["weld", "hinge", "slider", "screw", "cylinder", "universal", "ball", "plane", "point_on_line", "point_on_plane",
        "motor"]) {
        const { marks } = marksOf(type);
        assert.ok(marks.length > 0, type);
        for (const piece of marks) assert.ok([...piece.frame, piece.span].every(Number.isFinite), type);
    }
    for (const type of ["distance", "rope", "rolling", "unheard_of"]) assert.equal(marksOf(type).marks.length, 0, type);
});

test("a bearing hangs from above what hangs, and stands below what stands", () => {
    const m = mechanism([rod()], [joint("hinge", [-1, 0], [[0, 0, 0], [0, 0, 0.5]])]), high = (z: number): number => {
        const { bearings } = layoutJoints(m, [poses([0, 0, z])], sizesOf(m), 1, WHITE);
        return Math.sign(bearings.reduce((sum, piece) => sum + piece.frame[11], 0));
    };
    m.joints[0]!.anchors[1] = [0, 0, 0];
    m.bodies[0].com = [0, 0, 0.5];
    assert.equal(high(0), -1);
    m.bodies[0].com = [0, 0, -0.5];
    assert.equal(high(0), 1);
});

test("what slides away from the ground has no bearing, and joints of moving bodies have none", () => {
    const m = mechanism([rod(), rod()], [joint("motor", [-1, 0], [[0, 0, 0], [0, 0, 0]]), joint("hinge", [0, 1], [[0, 0, 0], [0, 0, 0]])]);
    assert.equal(layoutJoints(m, [poses([0, 0, 0], [0, 0, 0]), poses([1, 0, 0], [1, 0, 0])], sizesOf(m), 1, WHITE).bearings.length, 0);
});

test("a rail is as long as the motion that is known", () => {
    const m = mechanism([rod()], [joint("slider", [-1, 0], [[0, 0, 0], [0, 0, 0]])]),
        rail = (to: number): Piece => layoutJoints(m, [poses([0, 0, 0]), poses([0, to, 0])], sizesOf(m), 1, WHITE).marks[0];
    assert.ok(Math.hypot(...rail(8).frame.slice(6, 9)) > 4 && Math.hypot(...rail(8).frame.slice(6, 9)) < 5);
    close([rail(8).frame[9], 0, 0], [0, 0, 0]);
    assert.ok(Math.abs(rail(8).frame[10] - 4) < 1e-6);
});

test("a joint of the user's own code is passed over", () => {
    const m = mechanism([rod()], [null]);
    assert.deepEqual(layoutJoints(m, [poses([0, 0, 0])], sizesOf(m), 1, WHITE), { marks: [], bearings: [] });
    assert.deepEqual(strandsOf(m), []);
});

test("a rope hangs through, taut it is straight, and it lies on the floor", () => {
    const a: Vec3 = [0, 0, 1], b: Vec3 = [1, 0, 1], half = ROPE_PIECES / 2;
    close(ropePoint(a, b, 1, -9, half), [0.5, 0, 1]);
    assert.ok(ropePoint(a, b, 1.5, -9, half)[2] < 0.7);
    assert.equal(ropePoint(a, b, 5, 0.2, half)[2], 0.2);
    close(ropePoint(a, b, 1.5, -9, 0), a);
    close(ropePoint(a, b, 1.5, -9, ROPE_PIECES), b);
});

test("a rope that hangs through is about as long as it should be", () => {
    let long = 0;
    for (let i = 0; i < ROPE_PIECES; ++i) long += length(sub(ropePoint([0, 0, 0], [1, 0, 0], 1.2, -9, i + 1),
        ropePoint([0, 0, 0], [1, 0, 0], 1.2, -9, i)));
    assert.ok(Math.abs(long - 1.2) < 0.05, String(long));
});
