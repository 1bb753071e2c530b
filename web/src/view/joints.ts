// joints: a mark for each type of joint, in forms that stick out of the bodies it joins, and bearings where it stands on
// the ground. No three, no DOM.
//
// Sizes come from the bodies at the joint: from the smaller one its scale, from both how far a pin must reach. What slides has a rail as long as the
// motion that is known, or as its limit.
import type { Joint, Mechanism, Vec3 } from "../protocol";
import { add, clamp, cross, dot, frameAlong, length, place, scale, sub, turn, unit as unitOf } from "./math";
import { endsOf, isStill, nearSide, type Form, type Piece, reachAlong, rodPiece } from "./pieces";

/** Joints whose two anchors stay together. */
const PINNED = new Set(["hinge", "ball", "universal", "weld", "motor"]);
/** Above so many joints each has one small mark. */
const PLAIN = 3000;

interface Site {
    joint: Joint;
    index: number;
    unit: number;   // what sizes here are bound by
    half: number;   // of a pin along the axis
    round: number;  // of a ball about the anchor
    range: [number, number]; // of the sliding, along the axis of the first body
}

/** How far anchors slide along the axis in some moments. */
function slideOf(joint: Joint, samples: Float32Array[], unit: number): [number, number] {
    let low = Infinity, high = -Infinity;
    for (const poses of samples) {
        const [a, b] = endsOf(joint, poses), s = dot(sub(b, a), unitOf(turn(poses, joint.bodies[0], joint.axes[0])));
        low = Math.min(low, s);
        high = Math.max(high, s);
    }
    const [lower, upper] = joint.limit ?? [-Infinity, Infinity];
    if (lower > -20 * unit && upper < 20 * unit) return [Math.min(low, lower), Math.max(high, upper)];
    const spare = Math.max(0, 0.5 * unit - (high - low)) / 2;
    return Number.isFinite(low) && Number.isFinite(high) ? [low - spare, high + spare] : [-unit / 4, unit / 4];
}

/** A few times the half length of the smaller moving body at a joint. */
export function unitAt(joint: Joint, mechanism: Mechanism, sizes: number[], size: number): number {
    const near = joint.bodies.filter((b) => !isStill(mechanism.bodies[b])).map((b) => sizes[b]).filter((x) => x > 0);
    return Math.min(size, 3.5 * Math.min(size, ...near));
}

function siteOf(mechanism: Mechanism, joint: Joint, index: number, samples: Float32Array[], sizes: number[], size: number,
    plain: boolean): Site {
    const unit = unitAt(joint, mechanism, sizes, size);
    if (plain) return { joint, index, unit, half: 0.03 * unit, round: 0.03 * unit, range: [0, 0] };
    let half = Infinity, round = Infinity;
    joint.bodies.forEach((b, side) => {
        const body = mechanism.bodies[b];
        if (!body || isStill(body)) return;
        const axis = unitOf(joint.axes[side]), at = joint.anchors[side];
        const side1 = unitOf(cross(axis, Math.abs(axis[0]) < 0.7 ? [1, 0, 0] : [0, 1, 0])),
            all = [axis, side1, cross(axis, side1)].map((d) => reachAlong(body, at, d));
        if (Math.min(...all) > 0) {
            half = Math.min(half, all[0]);
            round = Math.min(round, ...all);
        }
    });
    return {
        joint, index, unit, half: clamp(Number.isFinite(half) ? 1.12 * half + 0.008 * unit : 0, 0.026 * unit, 0.16 * unit),
        round: clamp(Number.isFinite(round) ? 1.15 * round : 0, 0.015 * unit, 0.1 * unit), range: slideOf(joint, samples, unit),
    };
}

/** Pieces of one joint, each on the body of its side. */
class Maker {
    constructor(readonly pieces: Piece[], readonly site: Site) {}

    put(side: 0 | 1, form: Form, at: Vec3, z: Vec3, stretch: Vec3, span = 0, color: Vec3 | null = null, x?: Vec3): void {
        const { joint, index: owner } = this.site;
        this.pieces.push({ form, body: joint.bodies[side], owner, frame: frameAlong(at, z, stretch, x), span, color });
    }

    /** A round pin along the axis of a side, from low to high. */
    pin(side: 0 | 1, radius: number, low: number, high: number, form: Form = "pin"): void {
        const { joint } = this.site, z = unitOf(joint.axes[side]), at = (s: number): Vec3 => add(joint.anchors[side], scale(z, s));
        this.pieces.push(rodPiece(form, joint.bodies[side], this.site.index, at(low), at(high), radius, null));
    }
}

function markJoint(maker: Maker, accent: Vec3, plain: boolean): void {
    const { joint, half, round, range } = maker.site, r = clamp(0.25 * half, 0.3 * round, 0.8 * round), near = nearSide(joint);
    const ball = (side: 0 | 1, size: number): void => maker.put(side, "knob", joint.anchors[side], [0, 0, 1], [size, size, size]);
    const collar = (side: 0 | 1): void => maker.pin(side, 1.9 * r, -0.6 * half, 0.6 * half);
    const plate = (): void => maker.put(0, "box", joint.anchors[0], joint.axes[0], [3 * round, 3 * round, 0.12 * round]);
    if (plain && joint.type !== "distance" && joint.type !== "rope" && joint.type !== "rolling") return ball(near, 0.8 * round);
    switch (joint.type) {
        case "hinge": return maker.pin(near, r, -half, half);
        case "motor":
            maker.pin(near, r, -1.1 * half, 1.1 * half);
            return maker.put(near, "turn", joint.anchors[near], joint.axes[near], [1.5 * round, 1.5 * round, 1.5 * round], 0, accent);
        case "ball": return ball(near, round);
        case "universal":
            maker.pin(0, 0.8 * r, -half, half);
            maker.pin(1, 0.8 * r, -half, half);
            return ball(near, 1.3 * r);
        case "weld": return maker.put(near, "box", joint.anchors[near], joint.axes[near], [0.55 * round, 0.55 * round, 0.55 * round]);
        case "slider":
            maker.put(0, "box", add(joint.anchors[0], scale(unitOf(joint.axes[0]), (range[0] + range[1]) / 2)), joint.axes[0],
                [0.35 * round, 0.35 * round, (range[1] - range[0]) / 2 + 1.5 * round]);
            return maker.put(1, "box", joint.anchors[1], joint.axes[1], [0.9 * round, 0.9 * round, 1.4 * round]);
        case "cylinder":
            maker.pin(0, r, range[0] - 1.5 * half, range[1] + 1.5 * half);
            return collar(1);
        case "screw":
            maker.pin(0, 0.7 * r, range[0] - 1.5 * half, range[1] + 1.5 * half);
            maker.pin(0, 1.1 * r, range[0] - 1.4 * half, range[1] + 1.4 * half, "coil");
            return collar(1);
        case "plane":
        case "point_on_plane":
            plate();
            return ball(1, 0.7 * round);
        case "point_on_line":
            maker.pin(0, 0.35 * r, range[0] - half, range[1] + half);
            return ball(1, 0.7 * round);
        default: return; // distance and rope are strands; rolling has no place of its own
    }
}

/** A fork about a pin, or a stand below a ball, on the side that stands still. */
function bearJoint(maker: Maker, mechanism: Mechanism, poses: Float32Array, side: 0 | 1): void {
    const { joint, half } = maker.site, round = (joint.type === "weld" ? 0.5 : 1) * maker.site.round, other = joint.bodies[1 - side],
        body = mechanism.bodies[other];
    const at = joint.anchors[side], arm = sub(place(poses, other, body?.com.every(Number.isFinite) ? body.com : [0, 0, 0]),
        place(poses, joint.bodies[side], at));
    const centred = length(arm) < 0.5 * round; // a wheel: its stand is higher than it
    const stands = centred || arm[2] > 1e-3 * round; // and is borne from below; what hangs, from above
    const down = turnBack(poses, joint.bodies[side], [0, 0, stands ? -1 : 1]);
    const axis = unitOf(joint.axes[side]), forked = joint.type === "hinge" || joint.type === "motor";
    const away = sub(down, scale(axis, dot(axis, down))), r = Math.max(0.55 * round, 0.45 * half), t = 0.14 * half;
    if (forked && length(away) > 0.3) {
        const d = unitOf(away), wheel = centred && body ? reachAlong(body, joint.anchors[1 - side],
            turnBack(poses, other, turn(poses, joint.bodies[side], d))) : 0;
        const high = Math.max(2.6 * r, 1.5 * half, wheel + t);
        for (const s of [-1, 1]) {
            const cheek = add(at, scale(axis, s * (half + t)));
            maker.put(side, "box", add(cheek, scale(d, high / 2)), axis, [r * 0.8, high / 2, t], 0, null, cross(axis, d));
            maker.put(side, "pin", cheek, axis, [r * 0.8, r * 0.8, r * 0.8], t / (r * 0.8));
        }
        return maker.put(side, "box", add(at, scale(d, high + t)), axis, [1.5 * r, t, half + 2 * t + 0.4 * r], 0, null, cross(axis, d));
    }
    const d = forked ? scale(axis, dot(axis, down) < 0 ? -1 : 1) : down, gap = forked ? half : 0.4 * round, high = 2.4 * Math.max(round, r);
    maker.put(side, "cone", add(at, scale(d, gap + high / 2)), scale(d, -1), [1.1 * round, 1.1 * round, high / 2]);
    maker.put(side, "box", add(at, scale(d, gap + high)), d, [1.7 * round, 1.7 * round, 0.2 * round]);
}

function turnBack(poses: Float32Array, body: number, v: Vec3): Vec3 {
    const axes = [turn(poses, body, [1, 0, 0]), turn(poses, body, [0, 1, 0]), turn(poses, body, [0, 0, 1])];
    return [dot(axes[0], v), dot(axes[1], v), dot(axes[2], v)];
}

/** Whether a joint's anchors are together at all of some moments. */
function staysTogether(joint: Joint, samples: Float32Array[], unit: number): boolean {
    return samples.every((poses) => {
        const [a, b] = endsOf(joint, poses);
        return length(sub(a, b)) < 1e-3 * unit;
    });
}

export interface JointMarks { marks: Piece[]; bearings: Piece[] }

/** Marks and bearings of all joints. samples: poses of some moments, at least one; sizes: of bodies; size: of the mechanism; accent: of motors. */
export function layoutJoints(mechanism: Mechanism, samples: Float32Array[], sizes: number[], size: number, accent: Vec3): JointMarks {
    const marks: Piece[] = [], bearings: Piece[] = [], plain = mechanism.joints.length > PLAIN;
    mechanism.joints.forEach((joint, index) => {
        if (!joint) return;
        const site = siteOf(mechanism, joint, index, samples, sizes, size, plain);
        markJoint(new Maker(marks, site), accent, plain);
        const still = joint.bodies.findIndex((b) => b < 0 || isStill(mechanism.bodies[b]));
        if (still < 0 || plain || !PINNED.has(joint.type) || !staysTogether(joint, samples, site.unit)) return;
        if (isStill(mechanism.bodies[joint.bodies[1 - still]])) return;
        bearJoint(new Maker(bearings, site), mechanism, samples[0], still as 0 | 1);
    });
    return { marks, bearings };
}
