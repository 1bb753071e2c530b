// pick: which piece a ray meets first, by the exact forms. No three, no DOM.
//
// A ray is taken into the frame of a piece, where forms are units: a ball, a box, a drum, a rod (a drum with round ends).
// Solids are tried triangle by triangle. Forms that are no body's (rings, coils) are not asked for.
import type { Vec3 } from "../protocol";
import type { Form } from "./pieces";

export interface Ray { origin: Vec3; direction: Vec3 } // unit

/** Where a ray o + t d, t >= 0, enters a form of the unit; Infinity: nowhere. triangles: nine numbers each. */
export function enter(form: Form, span: number, triangles: Float32Array | null, o: Vec3, d: Vec3): number {
    if (form === "box") return enterBox(o, d, [1, 1, 1]);
    if (form === "ball" || form === "knob") return enterBall(o, d, 0);
    if (form === "drum" || form === "pin") return enterDrum(o, d, span, true);
    if (form === "rod" || form === "bone") return Math.min(enterDrum(o, d, span, false), enterBall(o, d, span), enterBall(o, d, -span));
    return triangles ? enterTriangles(triangles, o, d) : Infinity;
}

function enterBox(o: Vec3, d: Vec3, half: Vec3): number {
    let from = 0, to = Infinity;
    for (let k = 0; k < 3; ++k) {
        const a = (-half[k] - o[k]) / d[k], b = (half[k] - o[k]) / d[k];
        if (d[k] === 0) {
            if (Math.abs(o[k]) > half[k]) return Infinity;
            continue;
        }
        from = Math.max(from, Math.min(a, b));
        to = Math.min(to, Math.max(a, b));
    }
    return from <= to ? from : Infinity;
}

/** A unit ball at z. */
function enterBall(o: Vec3, d: Vec3, z: number): number {
    const p = o[2] - z, a = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], b = o[0] * d[0] + o[1] * d[1] + p * d[2];
    const c = o[0] * o[0] + o[1] * o[1] + p * p - 1, root = b * b - a * c;
    if (c <= 0) return 0;
    const t = (-b - Math.sqrt(root)) / a;
    return root >= 0 && t >= 0 ? t : Infinity;
}

/** A unit drum from -span to span, with lids or without. */
function enterDrum(o: Vec3, d: Vec3, span: number, lids: boolean): number {
    const a = d[0] * d[0] + d[1] * d[1], b = o[0] * d[0] + o[1] * d[1], c = o[0] * o[0] + o[1] * o[1] - 1, root = b * b - a * c;
    let best = Infinity;
    if (a > 0 && root >= 0) {
        const t = (-b - Math.sqrt(root)) / a;
        if (t >= 0 && Math.abs(o[2] + t * d[2]) <= span) best = t;
    }
    if (lids && d[2] !== 0) for (const z of [-span, span]) {
        const t = (z - o[2]) / d[2], x = o[0] + t * d[0], y = o[1] + t * d[1];
        if (t >= 0 && x * x + y * y <= 1) best = Math.min(best, t);
    }
    return best;
}

function enterTriangles(t: Float32Array, o: Vec3, d: Vec3): number {
    let best = Infinity;
    for (let i = 0; i + 8 < t.length; i += 9) {
        const ux = t[i + 3] - t[i], uy = t[i + 4] - t[i + 1], uz = t[i + 5] - t[i + 2], vx = t[i + 6] - t[i], vy = t[i + 7] - t[i + 1],
            vz = t[i + 8] - t[i + 2];
        const px = d[1] * vz - d[2] * vy, py = d[2] * vx - d[0] * vz, pz = d[0] * vy - d[1] * vx, det = ux * px + uy * py + uz * pz;
        if (det === 0) continue;
        const sx = o[0] - t[i], sy = o[1] - t[i + 1], sz = o[2] - t[i + 2], u = (sx * px + sy * py + sz * pz) / det;
        if (u < 0 || u > 1) continue;
        const qx = sy * uz - sz * uy, qy = sz * ux - sx * uz, qz = sx * uy - sy * ux, v = (d[0] * qx + d[1] * qy + d[2] * qz) / det;
        const s = (vx * qx + vy * qy + vz * qz) / det;
        if (v >= 0 && u + v <= 1 && s >= 0 && s < best) best = s;
    }
    return best;
}

/** The ray in the frame of a 4 x 4 matrix by columns; the parameter of points stays. null: the matrix has no inverse. */
export function rayIn(matrix: Float32Array, at: number, ray: Ray): { o: Vec3; d: Vec3 } | null {
    const m = (i: number): number => matrix[at + i];
    const x = [m(5) * m(10) - m(6) * m(9), m(6) * m(8) - m(4) * m(10), m(4) * m(9) - m(5) * m(8)];
    const y = [m(9) * m(2) - m(10) * m(1), m(10) * m(0) - m(8) * m(2), m(8) * m(1) - m(9) * m(0)];
    const z = [m(1) * m(6) - m(2) * m(5), m(2) * m(4) - m(0) * m(6), m(0) * m(5) - m(1) * m(4)];
    const det = m(0) * x[0] + m(1) * x[1] + m(2) * x[2];
    if (!(Math.abs(det) > 0)) return null;
    const back = (v: number[]): Vec3 => [x, y, z].map((row) => (row[0] * v[0] + row[1] * v[1] + row[2] * v[2]) / det) as Vec3;
    return { o: back([ray.origin[0] - m(12), ray.origin[1] - m(13), ray.origin[2] - m(14)]), d: back(ray.direction) };
}

/** Whether a ray comes within a radius of a point: quick, to leave out most pieces. */
export function comesNear(ray: Ray, x: number, y: number, z: number, radius: number): boolean {
    const dx = x - ray.origin[0], dy = y - ray.origin[1], dz = z - ray.origin[2], d = ray.direction;
    const along = dx * d[0] + dy * d[1] + dz * d[2], far = dx * dx + dy * dy + dz * dz - along * along;
    return along > -radius && far <= radius * radius;
}
