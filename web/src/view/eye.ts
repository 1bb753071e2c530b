// eye: where the camera is, and what it must see. No three, no DOM.
//
// An eye looks at a target from a distance, by azimuth (about z, from x) and elevation. Its lens is as wide for a phone held upright as
// for a wide window: what fits the narrow side decides.
import type { Vec3 } from "../protocol";
import { add, clamp, cross, mix, place, scale, sub } from "./math";

export interface Eye { azimuth: number; elevation: number; distance: number; target: Vec3 }

export interface Basis { back: Vec3; right: Vec3; up: Vec3 }

export const STEEPEST = Math.PI / 2 - 1e-4;

export function basisOf(eye: Eye): Basis {
    const { azimuth: a, elevation: e } = eye, back: Vec3 = [Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)],
        right: Vec3 = [-Math.sin(a), Math.cos(a), 0];
    return { back, right, up: cross(back, right) };
}

export const positionOf = (eye: Eye): Vec3 => add(eye.target, scale(basisOf(eye).back, eye.distance));

/** Pixels a metre has at distance one. */
export const lens = (width: number, height: number): number => 1.55 * Math.min(width, 1.25 * height);

/** Balls [x y z radius ...] in the world, and the box around them. */
export interface Sight { balls: number[]; low: Vec3; high: Vec3 }

export function emptySight(): Sight {
    return { balls: [], low: [Infinity, Infinity, Infinity], high: [-Infinity, -Infinity, -Infinity] };
}

/** Adds a ball; keep: not only to the box. What is not finite is left out. */
export function see(sight: Sight, p: Vec3, radius: number, keep = true): void {
    if (!Number.isFinite(p[0] + p[1] + p[2] + radius)) return;
    for (let k = 0; k < 3; ++k) {
        sight.low[k] = Math.min(sight.low[k], p[k] - radius);
        sight.high[k] = Math.max(sight.high[k], p[k] + radius);
    }
    if (keep) sight.balls.push(p[0], p[1], p[2], radius);
}

/** What bodies fill in some moments: balls are [body, middle, radius]. Keeps some thousands. */
export function sightOf(balls: [number, Vec3, number][], samples: Float32Array[]): Sight {
    const sight = emptySight(), looks = Math.min(samples.length, Math.max(2, Math.floor(4e5 / (balls.length + 1))));
    const share = Math.max(1, Math.ceil(balls.length * looks / 6000));
    for (let i = 0, n = 0; i < looks; ++i) {
        const poses = samples[looks > 1 ? Math.round(i * (samples.length - 1) / (looks - 1)) : 0];
        for (const [body, p, radius] of balls) see(sight, place(poses, body, p), radius, n++ % share === 0);
    }
    if (!(sight.low[0] <= sight.high[0])) see(sight, [0, 0, 0], 1);
    return sight;
}

/** The mean place of balls. */
export function centreOf(balls: [number, Vec3, number][], poses: Float32Array): Vec3 {
    const share = Math.max(1, Math.ceil(balls.length / 500));
    let sum: Vec3 = [0, 0, 0], count = 0;
    for (let i = 0; i < balls.length; i += share) {
        const p = balls[i][0] < 0 ? null : place(poses, balls[i][0], balls[i][1]);
        if (!p || !Number.isFinite(p[0] + p[1] + p[2])) continue;
        sum = add(sum, p);
        ++count;
    }
    return scale(sum, 1 / Math.max(1, count));
}

/** A motion as seen by one who goes with it: of each moment the balls, as if the centre had stayed where it was in the first. */
export function sightFrom(balls: [number, Vec3, number][], samples: Float32Array[]): Sight {
    const sight = emptySight(), start = centreOf(balls, samples[0]), share = Math.max(1, Math.ceil(balls.length / 500));
    for (let i = 0; i < samples.length; i += Math.max(1, Math.ceil(samples.length / 12))) {
        const shift = sub(start, centreOf(balls, samples[i]));
        for (let k = 0; k < balls.length; k += share) {
            const [body, p, radius] = balls[k];
            if (body >= 0) see(sight, add(place(samples[i], body, p), shift), radius);
        }
    }
    return sight;
}

export const middleOf = (sight: Sight): Vec3 => scale(add(sight.low, sight.high), 0.5);
/** Half the diagonal of the box. */
export const reachOf = (sight: Sight): number => Math.max(1e-6, 0.5 * Math.hypot(...sub(sight.high, sight.low)));

/** Where the floor is drawn in a scene that has none: at zero, or below everything. */
export function floorHeight(sight: Sight): number {
    const reach = reachOf(sight), low = sight.low[2];
    return low < -0.02 * reach ? low - 0.03 * reach : low > 2 * reach ? low - 0.1 * reach : 0;
}

/** From where a mechanism is seen at first: flat ones from their broad side. */
export function startView(sight: Sight): { azimuth: number; elevation: number } {
    const [x, y, z] = sub(sight.high, sight.low), flat = 0.08 * Math.max(x, y, z);
    if (z <= 0.3 * flat && x > flat && y > flat) return { azimuth: -Math.PI / 2, elevation: Math.PI / 2 - 0.02 };
    if (y <= flat) return { azimuth: -Math.PI / 2 + 0.25, elevation: 0.18 };
    if (x <= flat) return { azimuth: 0.25, elevation: 0.18 };
    return { azimuth: -1.05, elevation: 0.35 };
}

/** How much of the picture balls fill as seen by an eye: the least and largest x and y, -1 to 1 within it; infinite where one is behind. */
export function outline(balls: number[], eye: Eye, width: number, height: number): { low: [number, number]; high: [number, number] } {
    const { back, right, up } = basisOf(eye), zoom = lens(width, height), half = [width / 2, height / 2];
    const low: [number, number] = [Infinity, Infinity], high: [number, number] = [-Infinity, -Infinity];
    for (let i = 0; i < balls.length; i += 4) {
        const x = balls[i] - eye.target[0], y = balls[i + 1] - eye.target[1], z = balls[i + 2] - eye.target[2], r = balls[i + 3];
        const deep = Math.max(0.02 * eye.distance, eye.distance - (x * back[0] + y * back[1] + z * back[2])), s = zoom / deep;
        const at = [s * (x * right[0] + y * right[1] + z * right[2]), s * (x * up[0] + y * up[1] + z * up[2])];
        for (let k = 0; k < 2; ++k) {
            low[k] = Math.min(low[k], (at[k] - r * s) / half[k]);
            high[k] = Math.max(high[k], (at[k] + r * s) / half[k]);
        }
    }
    return { low, high };
}

/** The eye in the same direction that has all balls in the middle and fills most of the picture with them. */
export function fitEye(sight: Sight, azimuth: number, elevation: number, width: number, height: number): Eye {
    const eye: Eye = { azimuth, elevation, distance: 3.4 * reachOf(sight), target: middleOf(sight) }, { right, up } = basisOf(eye);
    for (let i = 0; i < 8; ++i) {
        const { low, high } = outline(sight.balls, eye, width, height), s = eye.distance / lens(width, height);
        const x = (low[0] + high[0]) / 2 * width / 2 * s, y = (low[1] + high[1]) / 2 * height / 2 * s;
        eye.target = add(eye.target, add(scale(right, x), scale(up, y)));
        eye.distance *= Math.max(0.3, (high[0] - low[0]) / 2 / 0.84, (high[1] - low[1]) / 2 / 0.78);
    }
    return eye;
}

/** On the way from one eye to another; azimuth by its shorter way. */
export function mixEye(a: Eye, b: Eye, s: number): Eye {
    const round = 2 * Math.PI, turn = b.azimuth - a.azimuth - round * Math.round((b.azimuth - a.azimuth) / round);
    return {
        azimuth: a.azimuth + s * turn, elevation: a.elevation + s * (b.elevation - a.elevation),
        distance: a.distance * (b.distance / a.distance) ** s, target: mix(a.target, b.target, s),
    };
}

export function orbited(eye: Eye, dAzimuth: number, dElevation: number): Eye {
    return { ...eye, azimuth: eye.azimuth + dAzimuth, elevation: clamp(eye.elevation + dElevation, -STEEPEST, STEEPEST) };
}
