// forces: how long arrows are. No three, no DOM.
//
// Forces of one mechanism span many powers of ten, so lengths go with the root of the force over the weight of all that
// moves: the whole weight is a quarter of the mechanism's size, a hundredth of it a tenth of that. Very large ones stay within the size.
import type { Mechanism } from "../protocol";

/** What all that moves weighs [N]; where nothing does, 1. */
export function weightOf(mechanism: Mechanism): number {
    const [x, y, z] = mechanism.settings.gravity, g = Math.hypot(x, y, z);
    let mass = 0;
    for (const { kind, mass: own } of mechanism.bodies) if (kind !== "static" && kind !== "kinematic" && Number.isFinite(own)) mass += own;
    const weight = mass * (g > 0 ? g : 9.81);
    return weight > 0 && Number.isFinite(weight) ? weight : 1;
}

/** Length of the arrow of a force. */
export function forceLength(force: number, weight: number, size: number): number {
    if (!(force > 1e-6 * weight)) return 0;
    const l = 0.25 * Math.sqrt(force / weight);
    return Number.isFinite(l) ? size * l / (1 + 0.8 * l) : size / 0.8;
}

/** Radius of the ring of a torque: by the force that does the same at the mechanism's size. */
export const torqueRadius = (torque: number, weight: number, size: number): number => 0.4 * forceLength(torque / size, weight, size);

/** Three digits: 12.3 N, 1.23 kN, 0.00123 N. */
export function forceText(force: number): string {
    if (force >= 1e6) return `${+(force / 1e6).toPrecision(3)} MN`;
    if (force >= 1e3) return `${+(force / 1e3).toPrecision(3)} kN`;
    return `${+force.toPrecision(3)} N`;
}
