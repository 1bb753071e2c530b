// points: where points of bodies are, for trails and the like.
import type { History } from "./history";
import { POSE, type Frame, type Mechanism, type Vec3 } from "./protocol";

/** A point of a body, in the world. Body -1 is the ground. */
export function place(frame: Frame, body: number, point: Vec3): Vec3 {
    if (body < 0) return [...point];
    const [x, y, z, w, a, b, c] = frame.poses.subarray(POSE * body, POSE * (body + 1)), [p, q, r] = point;
    const s = 2 / (w * w + a * a + b * b + c * c || 1); // v + s * (w u x v + u x (u x v))
    const i = b * r - c * q, j = c * p - a * r, k = a * q - b * p;
    return [x + p + s * (w * i + b * k - c * j), y + q + s * (w * j + c * i - a * k), z + r + s * (w * k + a * j - b * i)];
}

const TRAIL_MAX = 4000;

/** Where a joint was, and will be. */
export function trail(mechanism: Mechanism, joint: number, history: History): Vec3[] {
    const j = mechanism.joints[joint], points: Vec3[] = [];
    if (!j) return points;
    const side = j.bodies[1] >= 0 ? 1 : 0, stride = Math.max(1, Math.ceil(history.count / TRAIL_MAX));
    for (let i = 0; i < history.count; i += stride) points.push(place(history.at(i), j.bodies[side], j.anchors[side]));
    return points;
}
