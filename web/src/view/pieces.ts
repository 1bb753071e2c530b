// pieces: what bodies look like, as stretched unit forms in their frames. No three, no DOM.
//
// A body is drawn by its shapes. One without visible shapes is drawn as bones: a tapered rod between two joints, rods to
// the middle of more, a rod to the centre of mass from one, a ball where there is none. A single ball that hangs on a joint far from it
// gets a string.
//
// A piece is a form, a frame in its body, and a span: rods and the like are a unit thick and made longer by moving their
// ends `span` apart from the middle, so that caps stay round. Planes have no end and are told apart.
import type { Body, Joint, Mechanism, Quat, Shape, Vec3 } from "../protocol";
import { add, dot, frameAlong, frameOf, length, place, rotate, scale, sub } from "./math";

/** Unit forms: along z where there is an axis. `solid<n>` is the n-th of a layout's solids. */
export type Form = "ball" | "box" | "rod" | "drum" | "bone" | "pin" | "knob" | "ring" | "cone" | "coil" | "turn" | `solid${number}`;

export interface Piece {
    form: Form;
    body: number;    // whose frame: -1 is the ground
    owner: number;   // the body or joint it is a part of
    frame: number[]; // twelve numbers, in the body
    span: number;
    color: Vec3 | null; // null: as the theme says
}

export interface Solid { kind: "hull" | "mesh"; points: Vec3[]; triangles: Vec3[] }
export interface Plate { body: number; position: Vec3; orientation: Quat; color: Vec3 | null }

export interface Layout { pieces: Piece[]; plates: Plate[]; solids: Solid[] }

export const isStill = (body: Body | undefined): boolean => body === undefined || body.kind === "static";

/** A rod from a to b. */
export function rodPiece(form: Form, body: number, owner: number, a: Vec3, b: Vec3, radius: number, color: Vec3 | null): Piece {
    const d = sub(b, a), r = Math.max(radius, 1e-12);
    return { form, body, owner, frame: frameAlong(scale(add(a, b), 0.5), d, [r, r, r]), span: length(d) / 2 / r, color };
}

/** Anchors of the joints of each body, in its frame. */
export function anchorsOf(mechanism: Mechanism): Vec3[][] {
    const anchors: Vec3[][] = mechanism.bodies.map(() => []);
    for (const joint of mechanism.joints) joint?.bodies.forEach((body, side) => {
        if (body >= 0) anchors[body]?.push(joint.anchors[side]);
    });
    return anchors;
}

/** Whether a body has a shape that ends. */
export const hasShape = (body: Body): boolean => body.shapes.some((shape) => shape.type !== "plane" && shape.size.length > 0);
const comOf = (body: Body): Vec3 => body.com.every(Number.isFinite) ? body.com : [0, 0, 0];

/** The rods of a body without shapes, as pairs of points; none: a ball at its centre of mass. */
export function bonesOf(body: Body, anchors: Vec3[]): [Vec3, Vec3][] {
    const distinct = anchors.filter((a, i) => !anchors.slice(0, i).some((b) => length(sub(a, b)) < 1e-9));
    if (distinct.length === 2) return [[distinct[0], distinct[1]]];
    const middle = distinct.length > 2 ? scale(distinct.reduce(add, [0, 0, 0]), 1 / distinct.length) : comOf(body);
    return distinct.filter((a) => length(sub(a, middle)) > 1e-9).map((a) => [a, middle]);
}

/** Half lengths of the box around points, and its middle. */
export function boxAround(points: Vec3[]): { middle: Vec3; half: Vec3 } {
    const low: Vec3 = [Infinity, Infinity, Infinity], high: Vec3 = [-Infinity, -Infinity, -Infinity];
    for (const p of points) for (let k = 0; k < 3; ++k) {
        low[k] = Math.min(low[k], p[k]);
        high[k] = Math.max(high[k], p[k]);
    }
    return points.length ? { middle: scale(add(low, high), 0.5), half: scale(sub(high, low), 0.5) }
        : { middle: [0, 0, 0], half: [0, 0, 0] };
}

/** Points of a shape that is given by points. */
export function pointsOf(shape: Shape): Vec3[] {
    if (shape.type === "convex") return shape.size as Vec3[];
    if (shape.type === "mesh" || shape.type === "heights") return (shape.size as [Vec3[], Vec3[]])[0] ?? [];
    return [];
}

/** Balls (middle, radius) that a shape fills: few, but they reach as far as it does. In the body's frame. */
export function ballsOf(shape: Shape, coarse = false): [Vec3, number][] {
    const at = (v: Vec3): Vec3 => add(shape.position, rotate(shape.orientation, v)), size = shape.size as number[];
    const corners = (middle: Vec3, half: Vec3): [Vec3, number][] => coarse ? [[at(middle), length(half)]] :
        [0, 1, 2, 3, 4, 5, 6, 7].map((i) => [at([0, 1, 2].map((k) => middle[k] + (i >> k & 1 ? half[k] : -half[k])) as Vec3), 0]);
    switch (shape.type) {
        case "sphere": return [[shape.position, size[0]]];
        case "capsule": return [[at([0, 0, -size[1]]), size[0]], [at([0, 0, size[1]]), size[0]]];
        case "cylinder": return corners([0, 0, 0], [size[0], size[0], size[1]]);
        case "box": return corners([0, 0, 0], size as Vec3);
        case "plane": return [];
        default: {
            const points = pointsOf(shape), { middle, half } = boxAround(points);
            return points.length ? corners(middle, half) : [];
        }
    }
}

function shapePiece(layout: Layout, known: Map<string, number>, owner: number, shape: Shape, color: Vec3 | null): void {
    const size = shape.size as number[], { position, orientation } = shape;
    const put = (form: Form, stretch: Vec3, span = 0): void => {
        layout.pieces.push({ form, body: owner, owner, frame: frameOf(position, orientation, stretch), span, color });
    };
    const round = (form: Form): void => put(form, [size[0], size[0], size[0]], size[1] / Math.max(size[0], 1e-12));
    switch (shape.type) {
        case "sphere": put("ball", [size[0], size[0], size[0]]); break;
        case "box": put("box", size as Vec3); break;
        case "capsule": round("rod"); break;
        case "cylinder": round("drum"); break;
        case "plane": layout.plates.push({ body: owner, position, orientation, color: shape.color ?? null }); break;
        default: {
            const points = pointsOf(shape), triangles = shape.type === "convex" ? [] : (shape.size as [Vec3[], Vec3[]])[1] ?? [];
            if (!points.length) break;
            const key = JSON.stringify([points, triangles]), index = known.get(key) ?? layout.solids.length;
            if (index === layout.solids.length) layout.solids.push({ kind: shape.type === "convex" ? "hull" : "mesh", points, triangles });
            known.set(key, index);
            put(`solid${index}`, [1, 1, 1]);
        }
    }
}

/** Everything bodies show. unit: the length that bones take their thickness from. */
export function layoutBodies(mechanism: Mechanism, colors: (Vec3 | null)[], unit: number): Layout {
    const layout: Layout = { pieces: [], plates: [], solids: [] }, known = new Map<string, number>(), anchors = anchorsOf(mechanism);
    mechanism.bodies.forEach((body, i) => {
        for (const shape of body.shapes) shapePiece(layout, known, i, shape, shape.color ?? colors[i]);
        if (!hasShape(body)) {
            if (isStill(body) || body.shapes.length) return;
            const bones = bonesOf(body, anchors[i]), r = 0.016 * unit;
            for (const [a, b] of bones) layout.pieces.push(rodPiece("bone", i, i, a, b, r, colors[i]));
            if (anchors[i].length < 2) layout.pieces.push({ form: "ball", body: i, owner: i,
                frame: frameOf(comOf(body), [1, 0, 0, 0], [1.6 * r, 1.6 * r, 1.6 * r]), span: 0, color: colors[i] });
        } else if (body.shapes.length === 1 && body.shapes[0].type === "sphere") {
            const { position } = body.shapes[0], r = (body.shapes[0].size as number[])[0];
            for (const a of anchors[i]) {
                const d = sub(a, position), l = length(d);
                if (l > 1.2 * r) layout.pieces.push(rodPiece("pin", i, i, a, add(position, scale(d, r / l)),
                    Math.min(0.004 * unit, 0.1 * r), null));
            }
        }
    });
    return layout;
}

/** Balls that stand for each body, in its frame: [body, middle, radius]. */
export function sightsOf(mechanism: Mechanism): [number, Vec3, number][] {
    const coarse = mechanism.bodies.length > 2000, anchors = anchorsOf(mechanism), sights: [number, Vec3, number][] = [];
    mechanism.bodies.forEach((body, i) => {
        if (hasShape(body)) for (const shape of body.shapes) for (const [p, r] of ballsOf(shape, coarse)) sights.push([i, p, r]);
        if (!hasShape(body) && !isStill(body)) sights.push([i, comOf(body), 0]);
        if (!hasShape(body) || body.shapes.length === 1) for (const a of anchors[i]) sights.push([i, a, 0]);
    });
    for (const joint of mechanism.joints) joint?.bodies.forEach((body, side) => {
        if (body < 0) sights.push([-1, joint.anchors[side], 0]);
    });
    mechanism.springs.forEach((spring) => spring?.bodies.forEach((body, side) => sights.push([body, spring.anchors[side], 0])));
    return sights;
}

/** Half the length of each body. */
export function sizesOf(mechanism: Mechanism): number[] {
    const anchors = anchorsOf(mechanism);
    return mechanism.bodies.map((body, i) => {
        const points: Vec3[] = hasShape(body) ? [] : [comOf(body), ...anchors[i]];
        for (const shape of body.shapes) for (const [p, r] of ballsOf(shape)) points.push(add(p, [r, r, r]), sub(p, [r, r, r]));
        return length(boxAround(points).half);
    });
}

/** The middle value of how large moving bodies are; 0 where none has a size. */
export function grainOf(mechanism: Mechanism, sizes: number[]): number {
    const moving = sizes.filter((size, i) => size > 0 && !isStill(mechanism.bodies[i])).sort((a, b) => a - b);
    return moving[moving.length >> 1] ?? 0;
}

/** How far a body reaches from a point of it along a direction, either way, by the shapes that have the point (nearly) inside. */
export function reachAlong(body: Body, point: Vec3, direction: Vec3): number {
    let reach = 0;
    for (const shape of body.shapes) {
        const balls = ballsOf(shape);
        if (!balls.length) continue;
        const box = boxAround(balls.flatMap(([p, r]) => [add(p, [r, r, r]), sub(p, [r, r, r])])), d = sub(point, box.middle);
        if (d.some((x, k) => Math.abs(x) > 1.05 * box.half[k] + 1e-9)) continue;
        for (const [p, r] of balls) reach = Math.max(reach, Math.abs(dot(sub(p, point), direction)) + r);
    }
    return reach;
}

/** The side of a joint whose body moves with it. */
export const nearSide = (joint: Pick<Joint, "bodies">): 0 | 1 => joint.bodies[1] >= 0 ? 1 : 0;

/** The world's places of both ends of a joint. */
export const endsOf = (joint: Pick<Joint, "bodies" | "anchors">, poses: Float32Array): [Vec3, Vec3] =>
    [place(poses, joint.bodies[0], joint.anchors[0]), place(poses, joint.bodies[1], joint.anchors[1])];
