// Small mechanisms for tests of the view.
import type { Body, Frame, Joint, Mechanism, Shape, Vec3 } from "../src/protocol";

export const body = (name: string, shapes: Shape[] = [], more: Partial<Body> = {}): Body =>
    ({ name, kind: "rigid", mass: 1, com: [0, 0, 0], shapes, ...more });

export const shape = (type: Shape["type"], size: Shape["size"], position: Vec3 = [0, 0, 0]): Shape =>
    ({ type, position, orientation: [1, 0, 0, 0], size });

export const joint = (type: string, bodies: [number, number], anchors: [Vec3, Vec3], more: Partial<Joint> = {}): Joint =>
    ({ name: type, type, bodies, anchors, axes: [[0, 1, 0], [0, 1, 0]], coordinates: 1, start: 0, ...more });

export function mechanism(bodies: Body[], joints: (Joint | null)[] = [], more: Partial<Mechanism> = {}): Mechanism {
    return {
        type: "mechanism", tenon: "0", scene: "s", origin: "o", duration: 1, ground: false,
        counts: { bodies: bodies.length, joints: joints.length, rows: 0, dofs: 0, loops: 0, moving: 0, coordinates: 0 }, bodies, joints,
        springs: [], targets: [],
        settings: { type: "settings", method: "m", h: 0.01, gravity: [0, 0, -10], speed: 1, playing: false, values: {}, joints: [] },
            ...more,
    };
}

/** Poses of bodies that are not turned. */
export const poses = (...places: Vec3[]): Float32Array => Float32Array.from(places.flatMap((p) => [...p, 1, 0, 0, 0]));

export const frame = (at: Float32Array): Frame => ({
    bytes: 0, parts: 0, playing: false, stopped: false, step: 0, time: 0, kinetic: 0, gravity: 0, elastic: 0, jointError: 0,
        velocityError: 0, stepSeconds: 0, realTime: 0, activeCount: 0,
    poses: at, errors: null, forces: null, coordinates: null, active: null, contacts: null, handles: new Float32Array(0),
});
