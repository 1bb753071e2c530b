// strands: what is stretched between two bodies: springs, ropes that sag, rods of distance joints. No three, no DOM.
import type { Mechanism, Vec3 } from "../protocol";
import { length, mix, sub } from "./math";

export interface Strand {
    kind: "spring" | "rope" | "rod";
    bodies: [number, number];
    anchors: [Vec3, Vec3];
    long: number;  // of a rope
    joint: number; // -1: a spring
}

/** Pieces a rope is drawn in. */
export const ROPE_PIECES = 14;

export function strandsOf(mechanism: Mechanism): Strand[] {
    const strands: Strand[] = [];
    mechanism.joints.forEach((joint, index) => {
        if (!joint) return;
        const { type, bodies, anchors } = joint;
        if (type === "distance") strands.push({ kind: "rod", bodies, anchors, long: 0, joint: index });
        if (type === "rope") strands.push({ kind: "rope", bodies, anchors, long: joint.length ?? 0, joint: index });
    });
    for (const spring of mechanism.springs) if (spring) strands.push({ kind: "spring", ...spring, long: 0, joint: -1 });
    return strands;
}

/** The i-th of the points of a rope from a to b: it hangs through as its length asks, but not through the floor; taut it is straight. */
export function ropePoint(a: Vec3, b: Vec3, long: number, floor: number, i: number): Vec3 {
    const l = length(sub(b, a)), sag = l < long ? Math.sqrt((long - l) * (long / 4 + l / 8)) : 0, s = i / ROPE_PIECES, p = mix(a, b, s);
    p[2] = Math.max(p[2] - 4 * sag * s * (1 - s), Math.min(floor, a[2], b[2]));
    return p;
}
