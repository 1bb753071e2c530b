// math: small vectors, quaternions (w x y z) and affine frames. No three, no DOM.
//
// A frame is twelve numbers: the images of x, y and z, then the origin. Frames of all bodies stand in one array, the
// ground's first, so that body b is at 12 (b + 1).
import { POSE, type Quat, type Vec3 } from "../protocol";

export const FRAME = 12;

export const add = (a: Vec3, b: Vec3): Vec3 => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const sub = (a: Vec3, b: Vec3): Vec3 => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scale = (a: Vec3, s: number): Vec3 => [a[0] * s, a[1] * s, a[2] * s];
export const dot = (a: Vec3, b: Vec3): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a: Vec3, b: Vec3): Vec3 => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const length = (a: Vec3): number => Math.hypot(a[0], a[1], a[2]);
export const mix = (a: Vec3, b: Vec3, s: number): Vec3 => [a[0] + s * (b[0] - a[0]), a[1] + s * (b[1] - a[1]), a[2] + s * (b[2] - a[2])];
export const clamp = (x: number, low: number, high: number): number => Math.min(high, Math.max(low, x));
export const isFinite3 = (a: Vec3): boolean => Number.isFinite(a[0] + a[1] + a[2]);

export function unit(a: Vec3): Vec3 {
    const l = length(a);
    return l > 0 ? scale(a, 1 / l) : [0, 0, 1];
}

/** Some unit vector square to a unit vector. */
export function perpendicular(a: Vec3): Vec3 {
    return unit(cross(a, Math.abs(a[0]) < 0.7 ? [1, 0, 0] : [0, 1, 0]));
}

export function rotate(q: Quat, v: Vec3): Vec3 {
    const u: Vec3 = [q[1], q[2], q[3]], t = scale(cross(u, v), 2);
    return add(add(v, scale(t, q[0])), cross(u, t));
}

/** The frame at `origin` with the axes of a quaternion, stretched along them. */
export function frameOf(origin: Vec3, q: Quat, stretch: Vec3 = [1, 1, 1]): number[] {
    return [...scale(rotate(q, [1, 0, 0]), stretch[0]), ...scale(rotate(q, [0, 1, 0]), stretch[1]),
        ...scale(rotate(q, [0, 0, 1]), stretch[2]), ...origin];
}

/** The frame at `origin` whose z is along a direction and whose x is as near to `x` as can be. */
export function frameAlong(origin: Vec3, z: Vec3, stretch: Vec3, x?: Vec3): number[] {
    const c = unit(z), side = x ? sub(x, scale(c, dot(c, x))) : null;
    const a = side && length(side) > 1e-6 * length(x!) ? unit(side) : perpendicular(c);
    return [...scale(a, stretch[0]), ...scale(cross(c, a), stretch[1]), ...scale(c, stretch[2]), ...origin];
}

/** A point of a body, in the world; body -1 is the ground. */
export function place(poses: Float32Array, body: number, v: Vec3): Vec3 {
    if (body < 0) return v;
    const i = POSE * body;
    return add([poses[i], poses[i + 1], poses[i + 2]], rotate([poses[i + 3], poses[i + 4], poses[i + 5], poses[i + 6]], v));
}

/** A direction of a body, in the world. */
export function turn(poses: Float32Array, body: number, v: Vec3): Vec3 {
    if (body < 0) return v;
    const i = POSE * body;
    return rotate([poses[i + 3], poses[i + 4], poses[i + 5], poses[i + 6]], v);
}

/** A point of the world, in a body's frame. */
export function unplace(poses: Float32Array, body: number, p: Vec3): Vec3 {
    if (body < 0) return p;
    const i = POSE * body;
    return rotate([poses[i + 3], -poses[i + 4], -poses[i + 5], -poses[i + 6]], sub(p, [poses[i], poses[i + 1], poses[i + 2]]));
}

/** out = a mixed with b; quaternions by their shorter way, made unit again. Arrays of poses; b may be null. */
export function mixPoses(out: Float32Array, a: Float32Array, b: Float32Array | null, s: number): void {
    const count = Math.min(out.length, a.length, b ? b.length : a.length) / POSE;
    for (let k = 0, i = 0; k < count; ++k, i += POSE) {
        let t = b ? s : 0, u = t;
        const c = b ?? a;
        if (a[i + 3] * c[i + 3] + a[i + 4] * c[i + 4] + a[i + 5] * c[i + 5] + a[i + 6] * c[i + 6] < 0) u = -u;
        for (let m = 0; m < 3; ++m) out[i + m] = (1 - t) * a[i + m] + t * c[i + m];
        let size = 0;
        for (let m = 3; m < POSE; ++m) {
            const x = (1 - t) * a[i + m] + u * c[i + m];
            out[i + m] = x;
            size += x * x;
        }
        size = size > 0 ? 1 / Math.sqrt(size) : 0;
        for (let m = 3; m < POSE; ++m) out[i + m] *= size;
    }
}

/** Frames of the ground and all bodies, 12 (bodies + 1) numbers, from unit poses. */
export function framesOf(out: Float32Array, poses: Float32Array): void {
    out.fill(0, 0, FRAME);
    out[0] = out[4] = out[8] = 1;
    for (let i = 0, o = FRAME; i < poses.length && o < out.length; i += POSE, o += FRAME) {
        const w = poses[i + 3], x = poses[i + 4], y = poses[i + 5], z = poses[i + 6];
        out[o] = 1 - 2 * (y * y + z * z); out[o + 1] = 2 * (x * y + z * w); out[o + 2] = 2 * (x * z - y * w);
        out[o + 3] = 2 * (x * y - z * w); out[o + 4] = 1 - 2 * (x * x + z * z); out[o + 5] = 2 * (y * z + x * w);
        out[o + 6] = 2 * (x * z + y * w); out[o + 7] = 2 * (y * z - x * w); out[o + 8] = 1 - 2 * (x * x + y * y);
        out[o + 9] = poses[i]; out[o + 10] = poses[i + 1]; out[o + 11] = poses[i + 2];
    }
}

/** out[at..] = frame A times frame B, as a 4 x 4 matrix by columns. Allocates nothing. */
export function multiplyFrames(out: Float32Array, at: number, A: Float32Array, a: number, B: Float32Array, b: number): void {
    for (let c = 0; c < 4; ++c) {
        const x = B[b + 3 * c], y = B[b + 3 * c + 1], z = B[b + 3 * c + 2], o = at + 4 * c;
        out[o] = A[a] * x + A[a + 3] * y + A[a + 6] * z;
        out[o + 1] = A[a + 1] * x + A[a + 4] * y + A[a + 7] * z;
        out[o + 2] = A[a + 2] * x + A[a + 5] * y + A[a + 8] * z;
        out[o + 3] = 0;
    }
    out[at + 12] += A[a + 9];
    out[at + 13] += A[a + 10];
    out[at + 14] += A[a + 11];
    out[at + 15] = 1;
}
