// cast: everything of one mechanism that is drawn, made once and moved by frames.
import { Group, MeshStandardMaterial, type Material, MeshLambertMaterial, MeshBasicMaterial, GreaterDepth } from "three";
import type { Frame, Mechanism, Vec3 } from "../protocol";
import { Arrows, type Held } from "./arrows";
import { Riders, stretching } from "./batch";
import { ACTIVE, bodyColors, errorRgb, HELD, type Theme } from "./colors";
import { centreOf, emptySight, floorHeight, middleOf, reachOf, see, type Sight, sightFrom, sightOf } from "./eye";
import { Floor } from "./floor";
import { weightOf } from "./forces";
import { layoutJoints } from "./joints";
import { FRAME, frameOf, framesOf, mixPoses, place, rotate, sub } from "./math";
import { comesNear, enter, type Ray, rayIn } from "./pick";
import { grainOf, isStill, layoutBodies, nearSide, type Layout, type Piece, sightsOf, sizesOf } from "./pieces";
import { strandsOf } from "./strands";

/** Above so many bodies there are no shadows, and plainer light. */
const MANY = 3000;
/** What goes so many times as far as it is large is gone with. */
const TRAVELS = 2.2;

export type Paint = "own" | "error" | "active";
export type Thing = { kind: "body" | "joint"; index: number };
export interface Hit { body: number; point: Vec3; far: number }

/** Poses of a frame for so many bodies; what is missing or not a number stays at the origin. */
function posesFor(frame: Frame, bodies: number): Float32Array {
    const poses = new Float32Array(7 * bodies);
    for (let b = 0; b < bodies; ++b) poses[7 * b + 3] = 1;
    poses.set(frame.poses.subarray(0, poses.length));
    return poses;
}

export class Cast {
    readonly group = new Group();
    readonly size: number;  // half the diagonal of what is there at first
    readonly unit: number;  // what marks take their size from
    sight: Sight;           // all that is known of the motion; of what travels, as seen by one who goes with it
    travels: boolean;       // it goes farther than it is large
    readonly layout: Layout;
    readonly marks: Piece[];
    readonly poses: Float32Array;
    readonly frames: Float32Array;
    readonly fine: number;
    readonly crowded: boolean;
    readonly floor: Floor;
    private readonly bodies: Riders;
    private readonly joints: Riders;
    private readonly bearings: Riders;
    private readonly goals: Riders; // of targets
    private readonly arrows: Arrows;
    private readonly materials: Material[];
    private readonly sights: [number, Vec3, number][];
    private readonly colors: (Vec3 | null)[];
    private readonly errors: Float32Array; // of bodies: the largest of their joints
    private start: Vec3;                   // the centre when the sight was taken
    private readonly leads: number[][];    // the joints that lead to a body: of the last of them it has its colour

    constructor(readonly mechanism: Mechanism, first: Frame, sample: Frame[], theme: Theme) {
        const count = mechanism.bodies.length, samples = [first, ...sample].map((frame) => posesFor(frame, count));
        this.poses = samples[0].slice();
        this.frames = new Float32Array(FRAME * (count + 1));
        this.errors = new Float32Array(count);
        this.leads = mechanism.bodies.map(() => []);
        mechanism.joints.forEach((joint, i) => { if (joint) this.leads[joint.bodies[nearSide(joint)]]?.push(i); });
        this.sights = sightsOf(mechanism);
        const whole = sightOf(this.sights, samples), going = sightFrom(this.sights, samples);
        this.travels = going.balls.length > 0 && reachOf(whole) > TRAVELS * reachOf(going);
        this.sight = this.travels ? going : whole;
        this.start = centreOf(this.sights, this.poses);
        this.size = Math.max(reachOf(sightOf(this.sights, samples.slice(0, 1))), 0.02 * reachOf(this.sight));
        const sizes = sizesOf(mechanism);
        this.unit = Math.min(this.size, 3.5 * (grainOf(mechanism, sizes) || this.size));
        this.colors = bodyColors(mechanism.bodies);
        this.layout = layoutBodies(mechanism, this.colors, this.unit);
        const few = samples.filter((_, i) => i % Math.ceil(samples.length / 24) === 0);
        const { marks, bearings } = layoutJoints(mechanism, few, sizes, this.size, theme.accent);
        this.marks = marks;
        this.crowded = this.layout.pieces.length > MANY;
        this.fine = this.layout.pieces.length < 120 ? 48 : this.layout.pieces.length < 500 ? 32 : this.layout.pieces.length < MANY ? 16 : 8;
        const solid = stretching(this.crowded ? new MeshLambertMaterial({ vertexColors: true })
            : new MeshStandardMaterial({ vertexColors: true, roughness: 0.55, metalness: 0.05 }));
        const hidden = (opacity: number): MeshBasicMaterial =>
            stretching(new MeshBasicMaterial({ transparent: true, opacity, depthFunc: GreaterDepth, depthWrite: false }));
        const ghost = hidden(0.2), sign = hidden(0.55);
        const goal = stretching(new MeshLambertMaterial({ vertexColors: true, transparent: true, opacity: 0.45, depthWrite: false }));
        this.materials = [solid, ghost, sign, goal];
        this.bodies = new Riders(this.layout.pieces, this.layout.solids, solid, this.fine);
        this.joints = new Riders(marks, [], solid, Math.min(this.fine, 24), marks.length < MANY ? ghost : null);
        this.bearings = new Riders(bearings, [], solid, Math.min(this.fine, 24));
        const r = 0.035 * this.unit;
        this.goals = new Riders(mechanism.targets.filter(({ body }) => body < count).map(({ body, point }): Piece =>
            ({ form: "knob", body, owner: body, frame: frameOf(point, [1, 0, 0, 0], [r, r, r]), span: 0, color: theme.target })),
        [], goal, 16);
        const { plates } = this.layout;
        if (mechanism.ground) plates.push({ body: -1, position: [0, 0, 0], orientation: [1, 0, 0, 0], color: null });
        const flat = plates.find(({ orientation }) => rotate(orientation, [0, 0, 1])[2] > 0.95);
        const height = flat ? null : floorHeight(whole), ground = flat ? place(this.poses, flat.body, flat.position)[2] : height!;
        this.floor = new Floor(plates, height, reachOf(this.sight));
        const strands = strandsOf(mechanism), coarse = Math.min(this.fine, 16);
        this.arrows = new Arrows(strands, solid, sign, coarse, this.size, this.unit, weightOf(mechanism), ground);
        this.group.add(this.floor.group, this.bodies.group, this.joints.group, this.bearings.group, this.goals.group, this.arrows.group);
        this.pose(first, null, 0);
    }

    /** Bodies and all that rides on them. */
    pose(frame: Frame, next: Frame | null, mix: number): void {
        mixPoses(this.poses, frame.poses, next?.poses ?? null, mix);
        framesOf(this.frames, this.poses);
        for (const riders of [this.bodies, this.joints, this.bearings, this.goals]) riders.ride(this.frames);
    }

    paint(frame: Frame, how: Paint, theme: Theme): void {
        const { errors, active } = frame, by = how === "error" && errors ? "error" : how === "active" && active ? "active" : "own";
        const isActive = (joint: number): boolean => joint >= 0 && active !== null && (active[joint >> 5] >> (joint & 31) & 1) !== 0;
        if (by === "error") this.sumErrors(errors!);
        const own = (piece: Piece): Vec3 => piece.color ?? (isStill(this.mechanism.bodies[piece.owner]) ? theme.still : theme.strand);
        const shade = (error: () => number, joint: () => number, plain: () => Vec3): Vec3 =>
            by === "error" ? errorRgb(error()) : by === "active" ? (isActive(joint()) ? ACTIVE : HELD) : plain();
        this.bodies.paint((piece) => shade(() => this.errors[piece.owner], () => this.leads[piece.owner].at(-1) ?? -1, () => own(piece)));
        this.joints.paint((piece) => shade(() => errors![piece.owner], () => piece.owner, () => piece.color ? theme.accent : theme.joint));
        this.bearings.paint(() => theme.bearing);
        this.goals.paint(() => theme.target);
    }

    private sumErrors(errors: Float32Array): void {
        this.errors.fill(0);
        this.mechanism.joints.forEach((joint, j) => {
            if (!joint) return;
            for (const body of joint.bodies) if (body >= 0 && !(this.errors[body] >= errors[j])) this.errors[body] = errors[j];
        });
    }

    /** Springs, ropes, arrows of all kinds. Returns what hands hold. */
    draw(frame: Frame, show: { forces: boolean; contacts: boolean; error: boolean }, theme: Theme): Held[] {
        this.arrows.showStrands(this.poses, theme, (joint) => show.error && frame.errors ? errorRgb(frame.errors[joint]) : null);
        this.arrows.begin();
        if (show.forces) this.arrows.showForces(frame, (joint) => this.jointPlace(joint), theme);
        if (show.contacts) this.arrows.showContacts(frame, theme);
        const held = this.arrows.showHandles(frame, theme);
        this.arrows.end();
        return held;
    }

    showJoints(on: boolean): void { this.joints.group.visible = this.bearings.group.visible = this.goals.group.visible = on; }

    setShadows(on: boolean): void {
        for (const riders of [this.bodies, this.joints, this.bearings]) riders.setShadows(on);
        this.arrows.setShadows(on);
        this.floor.setShadows(on);
    }

    /** Where a joint is: its anchor on the second body. */
    jointPlace(index: number): Vec3 | null {
        const joint = this.mechanism.joints[index];
        if (!joint) return null;
        const side = nearSide(joint);
        return place(this.poses, joint.bodies[side], joint.anchors[side]);
    }

    bodyPlace(index: number): Vec3 | null {
        const body = this.mechanism.bodies[index];
        return body ? place(this.poses, index, body.com.every(Number.isFinite) ? body.com : [0, 0, 0]) : null;
    }

    placeOf({ kind, index }: Thing): Vec3 | null { return kind === "joint" ? this.jointPlace(index) : this.bodyPlace(index); }

    nameOf({ kind, index }: Thing): string {
        const { bodies, joints } = this.mechanism;
        return (kind === "body" ? bodies : joints)[index]?.name ?? "";
    }

    /** What is there now. few: only about so many balls. */
    now(few = Infinity): Sight {
        const sight = emptySight(), share = Math.max(1, Math.ceil(this.sights.length / few));
        for (let i = 0; i < this.sights.length; i += share) {
            const [body, p, radius] = this.sights[i];
            see(sight, place(this.poses, body, p), radius);
        }
        if (!sight.balls.length) see(sight, [0, 0, 0], 1);
        return sight;
    }

    /** The middle of everything that is not the ground. */
    centre(): Vec3 { return centreOf(this.sights, this.poses); }

    /** How far what travels has gone since its sight was taken. */
    gone(): Vec3 { return this.travels ? sub(this.centre(), this.start) : [0, 0, 0]; }

    /** Makes the sight larger by what is there now. */
    seeNow(): void {
        const { balls } = this.now(3000), [x, y, z] = this.gone();
        for (let i = 0; i < balls.length; i += 4) see(this.sight, [balls[i] - x, balls[i + 1] - y, balls[i + 2] - z], balls[i + 3]);
    }

    /** Of a live mechanism: whether it travels, found out when it leaves the picture as large as it was. Its sight is then that of now. */
    goWith(): boolean {
        const { bodies, joints, springs } = this.mechanism, now = this.now(3000);
        const tied = [...joints, ...springs].some((tie) => tie?.bodies.some((b) => b < 0 || isStill(bodies[b])));
        if (this.travels || tied || reachOf(now) > 1.5 * this.size) return false;
        this.travels = true;
        this.sight = now;
        this.start = this.centre();
        return true;
    }

    /** The bodies whose frames are nearest to a point, the nearest first. */
    nearest(to: Vec3, most: number): number[] {
        const count = this.mechanism.bodies.length, far = new Float32Array(count);
        for (let b = 0; b < count; ++b) {
            const o = FRAME * (b + 1) + 9, x = this.frames[o] - to[0], y = this.frames[o + 1] - to[1], z = this.frames[o + 2] - to[2];
            far[b] = x * x + y * y + z * z;
        }
        const limit = count > most ? far.slice().sort()[most] : Infinity, near: number[] = [];
        for (let b = 0; b < count; ++b) if (far[b] <= limit) near.push(b);
        return near.sort((a, b) => far[a] - far[b]);
    }

    /** The joints that lead to a body. */
    jointsTo(body: number): number[] { return this.leads[body]; }

    /** Balls of one body or around one joint, now. */
    around({ kind, index }: Thing): Sight | null {
        const sight = emptySight(), at = this.placeOf({ kind, index });
        if (!at) return null;
        if (kind === "body") for (const [body, p, r] of this.sights) if (body === index) see(sight, place(this.poses, body, p), r);
        see(sight, at, kind === "joint" ? 0.25 * this.unit : 0.05 * this.unit);
        return sight;
    }

    /** The pieces that are a body or a joint. */
    piecesOf({ kind, index }: Thing): Piece[] {
        return (kind === "body" ? this.layout.pieces : this.marks).filter((piece) => piece.owner === index);
    }

    /** The first body that a ray meets. */
    hit(ray: Ray): Hit | null {
        let far = Infinity, body = -1;
        for (const { batch, pieces, radii, triangles } of this.bodies.loads) for (let i = 0; i < pieces.length; ++i) {
            const m = batch.matrices, at = 16 * i;
            if (!comesNear(ray, m[at + 12], m[at + 13], m[at + 14], radii[i])) continue;
            const inside = rayIn(m, at, ray), t = inside ? enter(pieces[i].form, pieces[i].span, triangles, inside.o, inside.d) : Infinity;
            if (t < far) {
                far = t;
                body = pieces[i].owner;
            }
        }
        if (body < 0) return null;
        return { body, far, point: [0, 1, 2].map((k) => ray.origin[k] + far * ray.direction[k]) as Vec3 };
    }

    /** Middle and radius of what is there now, for the sun; a grid that stands for a floor goes below it. */
    settle(): { middle: Vec3; radius: number } {
        const now = this.now(400), reach = Math.min(reachOf(now), 30 * this.size);
        this.floor.lower(now.low[2], reach);
        return { middle: middleOf(now), radius: reach + 0.1 * this.size };
    }

    /** Whether a body can be drawn about. */
    isFree(index: number): boolean {
        const body = this.mechanism.bodies[index];
        return body !== undefined && body.kind !== "static" && body.kind !== "kinematic";
    }

    dispose(): void {
        for (const riders of [this.bodies, this.joints, this.bearings, this.goals]) riders.dispose();
        for (const part of [this.arrows, this.floor, ...this.materials]) part.dispose();
    }
}
