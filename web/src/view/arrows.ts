// arrows: what changes its number from frame to frame: forces and torques in joints, contacts, hands that draw, springs
// and ropes. Rods, heads, rings, dots and coils, each form one batch that grows when it must.
import { Group, type Material } from "three";
import { CONTACT, FORCE, HANDLE, type Frame, type Vec3 } from "../protocol";
import { Batch } from "./batch";
import type { Theme } from "./colors";
import { forceLength, torqueRadius } from "./forces";
import { makeGeometry } from "./geometries";
import { add, frameAlong, isFinite3, length, place, scale, sub, unit } from "./math";
import type { Form } from "./pieces";
import { ROPE_PIECES, ropePoint, type Strand } from "./strands";

/** Batches of forms that are filled anew for every picture. */
class Heap {
    private readonly batches = new Map<Form, Batch>();

    constructor(readonly group: Group, private readonly material: Material, private readonly ghost: Material | null,
        private readonly fine: number, private shadows: boolean) {}

    begin(): void { for (const batch of this.batches.values()) batch.count = 0; }

    private room(form: Form): Batch {
        const old = this.batches.get(form);
        if (old && old.count < old.room) return old;
        const batch = new Batch(makeGeometry(form, [], this.fine), this.material, old ? 4 * old.room : 64);
        if (old) {
            batch.take(old);
            this.group.remove(...old.meshes);
            old.dispose();
        } else batch.count = 0;
        batch.mesh.castShadow = this.shadows;
        this.batches.set(form, batch);
        if (this.ghost) batch.addGhost(this.ghost);
        this.group.add(...batch.meshes);
        return batch;
    }

    rod(a: Vec3, b: Vec3, radius: number, color: Vec3, form: Form = "pin"): void { this.room(form).pushRod(a, b, radius, color); }
    dot(at: Vec3, radius: number, color: Vec3): void {
        this.room("knob").push(frameAlong(at, [0, 0, 1], [radius, radius, radius]), 0, color);
    }
    ring(at: Vec3, axis: Vec3, radius: number, color: Vec3): void {
        this.room("turn").push(frameAlong(at, axis, [radius, radius, radius]), 0, color);
    }

    /** An arrow from `from`; its head takes a part of it. */
    arrow(from: Vec3, vector: Vec3, radius: number, color: Vec3): void {
        const l = length(vector);
        if (!(l > 0)) return;
        const head = Math.min(0.45 * l, 6 * radius), d = unit(vector), r = Math.min(radius, 0.18 * l), neck = add(from, scale(d, l - head));
        this.rod(from, neck, r, color);
        this.room("cone").push(frameAlong(add(from, scale(d, l - head / 2)), d, [0.42 * head, 0.42 * head, head / 2]), 0, color);
    }

    end(): void {
        for (const batch of this.batches.values()) {
            batch.moved();
            batch.spanned();
            batch.colored();
        }
    }

    setShadows(on: boolean): void {
        this.shadows = on;
        for (const batch of this.batches.values()) batch.mesh.castShadow = on;
    }

    dispose(): void { for (const batch of this.batches.values()) batch.dispose(); }
}

const three = (array: Float32Array, i: number): Vec3 => [array[i], array[i + 1], array[i + 2]];

/** A body's hand: where it holds and draws to, and its force. */
export interface Held { point: Vec3; target: Vec3; force: number }

export class Arrows {
    readonly group = new Group();
    private readonly signs: Heap;   // over the bodies, without shadows
    private readonly strands: Heap;

    /** ghost: of signs that are hidden by bodies; size: of the mechanism; unit: of its bodies; floor: its height. */
    constructor(private readonly list: Strand[], material: Material, ghost: Material, fine: number, private readonly size: number,
        private readonly unit: number, private readonly weight: number, private readonly floor: number) {
        this.signs = new Heap(this.group, material, ghost, fine, false);
        this.strands = new Heap(this.group, material, null, fine, true);
    }

    /** Springs, ropes and rods. colorOf: of a joint's rod or rope, null: the theme's. */
    showStrands(poses: Float32Array, theme: Theme, colorOf: (joint: number) => Vec3 | null): void {
        const thin = Math.max(0.006 * this.unit, 0.0025 * this.size), dotSize = 2.4 * thin,
            coil = Math.max(0.028 * this.unit, 0.016 * this.size);
        this.strands.begin();
        for (const { kind, bodies, anchors, long, joint } of this.list) {
            const a = place(poses, bodies[0], anchors[0]), b = place(poses, bodies[1], anchors[1]);
            const color = (joint >= 0 ? colorOf(joint) : null) ?? theme.strand;
            if (!isFinite3(a) || !isFinite3(b)) continue;
            if (bodies[0] < 0) this.strands.dot(a, dotSize, theme.bearing);
            if (bodies[1] < 0) this.strands.dot(b, dotSize, theme.bearing);
            if (kind === "rod") this.strands.rod(a, b, 1.3 * thin, color);
            else if (kind === "spring") this.strands.rod(a, b, coil, color, "coil");
            else for (let i = 0; i < ROPE_PIECES; ++i)
                this.strands.rod(ropePoint(a, b, long, this.floor, i), ropePoint(a, b, long, this.floor, i + 1), thin, color, "rod");
        }
        this.strands.end();
    }

    begin(): void { this.signs.begin(); }
    end(): void { this.signs.end(); }

    /** Force and torque of each joint, where it is. */
    showForces(frame: Frame, placeOf: (joint: number) => Vec3 | null, theme: Theme): void {
        if (!frame.forces) return;
        const r = Math.min(0.009 * this.size, 0.03 * this.unit);
        for (let j = 0; FORCE * j + 5 < frame.forces.length; ++j) {
            const at = placeOf(j), force = three(frame.forces, FORCE * j), torque = three(frame.forces, FORCE * j + 3);
            if (!at || !isFinite3(force) || !isFinite3(torque)) continue;
            const l = forceLength(length(force), this.weight, this.size), ring = torqueRadius(length(torque), this.weight, this.size);
            if (l > 0) this.signs.arrow(at, scale(unit(force), l), r, theme.force);
            if (ring > 0.02 * this.size) this.signs.ring(at, torque, ring, theme.torque);
        }
    }

    /** Points, normals and forces where bodies touch. */
    showContacts(frame: Frame, theme: Theme): void {
        const all = frame.contacts, r = Math.min(0.007 * this.size, 0.02 * this.unit);
        if (!all) return;
        for (let i = 0; i + CONTACT <= all.length; i += CONTACT) {
            const at = three(all, i), normal = three(all, i + 3), force = three(all, i + 6),
                l = forceLength(length(force), this.weight, this.size);
            this.signs.dot(at, 0.012 * this.unit, theme.contact);
            this.signs.rod(at, add(at, scale(normal, 0.09 * this.unit)), 0.004 * this.unit, theme.contact);
            if (l > 0 && isFinite3(force)) this.signs.arrow(at, scale(unit(force), l), r, theme.force);
        }
    }

    /** Hands on bodies: where they hold, where they draw to. Returns them, for labels. */
    showHandles(frame: Frame, theme: Theme): Held[] {
        const held: Held[] = [], all = frame.handles;
        for (let i = 0; i + HANDLE <= all.length; i += HANDLE) {
            const point = three(all, i + 2), target = three(all, i + 5), force = three(all, i + 8);
            if (!isFinite3(point) || !isFinite3(target)) continue;
            this.signs.dot(point, 0.018 * this.size, theme.accent);
            this.signs.dot(target, 0.013 * this.size, theme.accent);
            if (length(sub(target, point)) > 1e-9) this.signs.rod(point, target, 0.004 * this.size, theme.accent);
            const l = isFinite3(force) ? forceLength(length(force), this.weight, this.size) : 0;
            if (l > 0) this.signs.arrow(point, scale(unit(force), l), 0.009 * this.size, theme.force);
            held.push({ point, target, force: length(force) });
        }
        return held;
    }

    setShadows(on: boolean): void { this.strands.setShadows(on); }

    dispose(): void {
        this.signs.dispose();
        this.strands.dispose();
    }
}
