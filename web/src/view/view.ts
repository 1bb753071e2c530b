// view: the picture of a mechanism on a canvas, its camera, and hands on it.
//
// A mechanism is set once and made into a Cast; frames then move it. Pictures are drawn only when something changed, one for each
// refresh of the screen at most.
import { PCFShadowMap, PerspectiveCamera, Scene, Matrix4, Vector3, WebGLRenderer } from "three";
import type { Frame, Mechanism, Vec3 } from "../protocol";
import type { Held } from "./arrows";
import { Cast, type Hit } from "./cast";
import { type Theme, themes } from "./colors";
import { basisOf, type Eye, fitEye, lens, mixEye, orbited, outline, positionOf, reachOf, startView, STEEPEST } from "./eye";
import { forceText } from "./forces";
import { Hands } from "./hands";
import { type Label, Labels } from "./labels";
import { Light } from "./light";
import { add, clamp, dot, isFinite3, length, scale, sub, unplace } from "./math";
import { Outline } from "./outline";
import type { Ray } from "./pick";
import { Trails } from "./trails";

export type Thing = { kind: "body" | "joint"; index: number };

export interface ViewHooks {
    /** A pointer went down on a body (only where canGrab). */
    grab(body: number, local: Vec3, world: Vec3): void;
    /** Where it is drawn to now. */
    move(world: Vec3): void;
    release(): void;
    /** A click or tap without a drag. */
    pick(what: Thing | null): void;
}

export type Overlay = "error" | "forces" | "contacts" | "active" | "names" | "joints" | "shadows" | "grid";

const GLIDE = 320; // milliseconds from one eye to another
const NEAR_JOINT = 9; // pixels

const same = (a: Thing | null, b: Thing | null): boolean => a?.kind === b?.kind && a?.index === b?.index;

export class View {
    canGrab = false;
    private readonly renderer: WebGLRenderer;
    private readonly scene = new Scene();
    private readonly lensCamera = new PerspectiveCamera();
    private readonly light = new Light();
    private readonly outline = new Outline();
    private readonly trails = new Trails();
    private readonly labels: Labels;
    private readonly hands: Hands;
    private readonly shown = new Set<Overlay>(["joints", "shadows", "grid"]);
    private theme: Theme = themes.dark;
    private cast: Cast | null = null;
    private frame: Frame | null = null;
    private next: Frame | null = null;
    private mix = 0;
    private eye: Eye = { azimuth: -1.05, elevation: 0.35, distance: 5, target: [0, 0, 0] };
    private glide: { from: Eye; to: Eye; begin: number } | null = null;
    private touched = false;   // somebody has chosen where the eye is
    private recorded = false;  // the whole motion was known when the eye was set
    private selected: Thing | null = null;
    private hovered: Thing | null = null;
    private followed: number | null = null;
    private lastCentre: Vec3 = [0, 0, 0]; // of what the eye goes with
    private held: { body: number; point: Vec3 } | null = null;
    private asked = 0;         // a picture, by requestAnimationFrame
    private posed = false;     // what is drawn is where the frame has it
    private painted = false;
    private heldNow: Held[] = [];
    private width = 1;
    private height = 1;

    /** Throws where there is no WebGL. */
    constructor(private readonly canvas: HTMLCanvasElement, labels: HTMLElement, private readonly hooks: ViewHooks) {
        try {
            this.renderer = new WebGLRenderer({ canvas, antialias: true, powerPreference: "high-performance" });
        } catch {
            throw new Error("This browser shows no 3D graphics: WebGL is not available, or is switched off.");
        }
        this.renderer.shadowMap.type = PCFShadowMap;
        this.renderer.localClippingEnabled = true;
        this.labels = new Labels(labels);
        this.scene.add(this.light.group, this.outline.group, this.trails.group);
        canvas.addEventListener("webglcontextrestored", this.restored);
        this.hands = new Hands(canvas, {
            grab: (x, y) => this.grabAt(x, y), draw: (x, y) => this.drawTo(x, y), release: () => this.letGo(),
            turn: (dx, dy) => this.orbit(-0.008 * dx, 0.008 * dy), pan: (dx, dy) => this.pan(dx, dy), zoomAt: (factor, x, y) => this.zoomAt(factor, x, y),
            hover: (x, y) => this.hoverAt(x, y), leave: () => this.setHovered(null), click: (x, y, coarse) => hooks.pick(this.thingAt(x, y, coarse)), focus: (x, y) => this.focusAt(x, y),
        });
        this.applyTheme();
        this.resize();
    }

    // ---- What is shown --------------------------------------------------------------------------

    setMechanism(mechanism: Mechanism, first: Frame, sample: Frame[] = []): void {
        const before = this.cast?.mechanism, again = before !== undefined && before.origin === mechanism.origin && before.scene === mechanism.scene && before.bodies.length === mechanism.bodies.length;
        this.letGo();
        this.clearCast();
        this.cast = new Cast(mechanism, first, sample, this.theme);
        this.scene.add(this.cast.group);
        this.frame = first;
        this.next = null;
        this.recorded = sample.length > 1;
        this.posed = this.painted = false;
        this.light.forget();
        this.applyTheme();
        this.applyShadows();
        this.cast.showJoints(this.shown.has("joints"));
        if (!again) {
            this.selected = null;
            this.followed = null;
            this.touched = false;
        }
        this.lastCentre = this.followed !== null ? this.cast.bodyPlace(this.followed) ?? this.cast.centre() : this.cast.centre();
        if (!this.touched) this.setEye(this.fitted(), false);
        this.setOutline();
        this.invalidate();
    }

    show(frame: Frame, next: Frame | null = null, mix = 0): void {
        this.frame = frame;
        this.next = next && next.poses.length === frame.poses.length ? next : null;
        this.mix = clamp(mix, 0, 1);
        this.posed = false;
        this.invalidate();
    }

    setOverlay(overlay: Overlay, on: boolean): void {
        if (this.shown.has(overlay) === on) return;
        if (on) this.shown.add(overlay); else this.shown.delete(overlay);
        if (on && overlay === "error") this.shown.delete("active"); // one colour a body
        if (on && overlay === "active") this.shown.delete("error");
        this.cast?.showJoints(this.shown.has("joints"));
        this.cast?.floor.setGrid(this.shown.has("grid"), this.theme);
        this.applyShadows();
        this.posed = this.painted = false;
        this.invalidate();
    }
    overlay(name: Overlay): boolean { return this.shown.has(name); }

    setTheme(theme: "dark" | "light"): void {
        this.theme = themes[theme];
        this.applyTheme();
        this.posed = this.painted = false;
        this.setOutline();
        this.invalidate();
    }

    setSelected(what: Thing | null): void {
        if (same(this.selected, what)) return;
        this.selected = what;
        this.setOutline();
        this.invalidate();
    }

    setTrail(joint: number, points: Vec3[] | null, done?: number): void {
        this.trails.set(joint, points, done);
        this.invalidate();
    }

    private applyTheme(): void {
        this.light.setTheme(this.theme);
        this.trails.setTheme(this.theme);
        this.labels.setTheme(this.theme.text, this.theme.halo);
        this.cast?.floor.setGrid(this.shown.has("grid"), this.theme);
    }

    private applyShadows(): void {
        const on = this.shown.has("shadows") && this.cast !== null && !this.cast.crowded;
        this.renderer.shadowMap.enabled = on;
        this.light.shadows = on;
        this.cast?.setShadows(on);
    }

    private setOutline(): void {
        if (!this.cast) return;
        const things: [Thing | null, Vec3][] = [[this.selected, this.theme.accent], [same(this.hovered, this.selected) ? null : this.hovered, this.theme.hover]];
        const pieces = things.flatMap(([thing, color]) => thing ? this.cast!.piecesOf(thing.kind, thing.index).map((piece) => ({ piece, color })) : []);
        this.outline.set(pieces.map(({ piece }) => piece), pieces.map(({ color }) => color), this.cast.layout.solids, this.cast.fine);
        this.outline.ride(this.cast.frames);
    }

    // ---- The eye ----------------------------------------------------------------------------------

    private fitted(azimuth?: number, elevation?: number): Eye {
        const sight = this.cast!.sight, start = startView(sight);
        const eye = fitEye(sight, azimuth ?? start.azimuth, elevation ?? start.elevation, this.width, this.height);
        return { ...eye, target: add(eye.target, this.cast!.gone()) };
    }

    private setEye(eye: Eye, gliding: boolean): void {
        const calm = !gliding || matchMedia("(prefers-reduced-motion: reduce)").matches;
        this.glide = calm ? null : { from: this.eye, to: eye, begin: performance.now() };
        if (calm) this.eye = eye;
        this.invalidate();
    }

    /** Where the eye will be. */
    private get goal(): Eye { return this.glide?.to ?? this.eye; }

    fit(): void {
        if (!this.cast) return;
        this.touched = false;
        if (!this.recorded) this.cast.seeNow();
        this.setEye(this.fitted(this.goal.azimuth, this.goal.elevation), true);
    }

    lookFrom(azimuth: number, elevation: number): void {
        if (!this.cast) return;
        this.touched = false;
        this.setEye(this.fitted(azimuth, clamp(elevation, -STEEPEST, STEEPEST)), true);
    }

    setFollow(body: number | null): void {
        const at = body === null ? null : this.cast?.bodyPlace(body) ?? null;
        this.followed = at ? body : null;
        this.lastCentre = at ?? this.cast?.centre() ?? [0, 0, 0];
        if (at) this.setEye({ ...this.goal, target: at }, true);
        this.touched = this.touched || at !== null;
    }

    camera(): { position: Vec3; target: Vec3 } { return { position: positionOf(this.goal), target: this.goal.target }; }

    orbit(dAzimuth: number, dElevation: number): void {
        this.touched = true;
        this.setEye(orbited(this.goal, dAzimuth, dElevation), false);
    }

    zoom(factor: number): void { this.zoomAt(factor, this.width / 2, this.height / 2); }

    /** What is under the pointer stays there. */
    private zoomAt(factor: number, x: number, y: number): void {
        const size = this.cast ? reachOf(this.cast.sight) : 1, eye = this.goal, distance = clamp(eye.distance * factor, 0.01 * size, 60 * size);
        const { right, up } = basisOf(eye), s = (eye.distance - distance) / lens(this.width, this.height);
        this.touched = true;
        const target = add(eye.target, add(scale(right, (x - this.width / 2) * s), scale(up, (this.height / 2 - y) * s)));
        this.setEye({ ...eye, distance, target }, false);
    }

    private pan(dx: number, dy: number): void {
        const eye = this.goal, { right, up } = basisOf(eye), s = eye.distance / lens(this.width, this.height);
        this.touched = true;
        this.setEye({ ...eye, target: add(eye.target, add(scale(right, -dx * s), scale(up, dy * s))) }, false);
    }

    private focusAt(x: number, y: number): void {
        const thing = this.thingAt(x, y, false), sight = thing && this.cast?.around(thing.kind, thing.index);
        if (!sight) return this.fit();
        const eye = fitEye(sight, this.goal.azimuth, this.goal.elevation, this.width, this.height);
        this.touched = true;
        this.setEye({ ...eye, distance: Math.max(2.2 * eye.distance, 0.02 * reachOf(this.cast!.sight)) }, true);
    }

    /** The eye goes with a body, or with a mechanism that travels; it steps back when a live one leaves the picture. */
    private keepUp(): void {
        const cast = this.cast!, at = this.followed !== null ? cast.bodyPlace(this.followed) : cast.centre();
        if (at && isFinite3(at)) {
            if (this.followed !== null || cast.travels) this.shiftEye(sub(at, this.lastCentre));
            this.lastCentre = at;
        }
        if (this.followed !== null || this.touched || this.recorded || this.hands.busy || this.glide) return;
        const now = cast.now(500), { low, high } = outline(now.balls, this.eye, this.width, this.height);
        if ((low[0] > -1 && low[1] > -1 && high[0] < 1 && high[1] < 1) || reachOf(cast.sight) > 8 * cast.size) return;
        if (!cast.goWith()) cast.seeNow();
        this.setEye(this.fitted(this.eye.azimuth, this.eye.elevation), true);
    }

    private shiftEye(d: Vec3): void {
        this.eye = { ...this.eye, target: add(this.eye.target, d) };
        if (this.glide) for (const end of ["from", "to"] as const) this.glide[end] = { ...this.glide[end], target: add(this.glide[end].target, d) };
    }

    // ---- What is under the pointer ----------------------------------------------------------------

    private ray(x: number, y: number): Ray {
        const { back, right, up } = basisOf(this.eye), zoom = lens(this.width, this.height);
        const d = add(scale(back, -1), add(scale(right, (x - this.width / 2) / zoom), scale(up, (this.height / 2 - y) / zoom)));
        return { origin: positionOf(this.eye), direction: scale(d, 1 / length(d)) };
    }

    /** Pixels from the upper left corner, and how far before the eye. */
    private project(p: Vec3): { x: number; y: number; deep: number } {
        const { back, right, up } = basisOf(this.eye), d = sub(p, this.eye.target), deep = this.eye.distance - dot(d, back), s = lens(this.width, this.height) / deep;
        return { x: this.width / 2 + s * dot(d, right), y: this.height / 2 - s * dot(d, up), deep };
    }

    /** A joint near the pointer, unless a body hides it by far; else the body. */
    private thingAt(x: number, y: number, coarse: boolean): Thing | null {
        const cast = this.cast;
        if (!cast) return null;
        const hit = cast.hit(this.ray(x, y)), behind = hit ? this.project(hit.point).deep + 0.4 * cast.unit : Infinity;
        let best: Thing | null = hit ? { kind: "body", index: hit.body } : null, near = coarse ? 2 * NEAR_JOINT : NEAR_JOINT;
        if (this.shown.has("joints")) cast.mechanism.joints.forEach((_, index) => {
            const at = cast.jointPlace(index), p = at && this.project(at);
            if (!p || !(p.deep > 0) || p.deep > behind || Math.hypot(p.x - x, p.y - y) >= near) return;
            near = Math.hypot(p.x - x, p.y - y);
            best = { kind: "joint", index };
        });
        return best;
    }

    private freeHit(x: number, y: number): Hit | null {
        const hit = this.canGrab && this.cast ? this.cast.hit(this.ray(x, y)) : null;
        return hit && this.cast!.isFree(hit.body) ? hit : null;
    }

    private hoverAt(x: number, y: number): void {
        const hit = this.freeHit(x, y);
        this.setHovered(hit ? { kind: "body", index: hit.body } : null);
    }

    private setHovered(thing: Thing | null): void {
        this.canvas.style.cursor = thing ? "grab" : "";
        if (same(thing, this.hovered)) return;
        this.hovered = thing;
        this.setOutline();
        this.invalidate();
    }

    private grabAt(x: number, y: number): boolean {
        const hit = this.freeHit(x, y);
        if (!hit) return false;
        this.held = { body: hit.body, point: hit.point };
        this.setHovered({ kind: "body", index: hit.body });
        this.canvas.style.cursor = "grabbing";
        this.hooks.grab(hit.body, unplace(this.cast!.poses, hit.body, hit.point), hit.point);
        return true;
    }

    /** In the plane through the point first held that faces the eye. */
    private drawTo(x: number, y: number): void {
        if (!this.held) return;
        const { origin, direction } = this.ray(x, y), { back } = basisOf(this.eye), slope = dot(direction, back);
        const world = add(origin, scale(direction, dot(sub(this.held.point, origin), back) / slope));
        if (isFinite3(world)) this.hooks.move(world);
    }

    private letGo(): void {
        if (!this.held) return;
        this.held = null;
        this.setHovered(null);
        this.hooks.release();
    }

    // ---- Pictures ---------------------------------------------------------------------------------

    private invalidate(): void {
        this.asked ||= requestAnimationFrame(() => {
            this.asked = 0;
            this.render();
        });
    }

    resize(): void {
        const width = Math.max(1, this.canvas.clientWidth), height = Math.max(1, this.canvas.clientHeight), ratio = Math.min(2, devicePixelRatio || 1);
        if (width === this.width && height === this.height && ratio === this.renderer.getPixelRatio()) return;
        this.setSize(width, height, ratio);
        if (this.cast && !this.touched) this.setEye(this.fitted(this.goal.azimuth, this.goal.elevation), false);
        if (this.cast) this.render(); // a new size empties the canvas
    }

    render(): void {
        if (!this.cast || !this.frame) return;
        this.prepare(this.cast, this.frame);
        if (this.glide) this.advanceGlide();
        this.drawScene();
        this.labels.show(this.wanted());
    }

    /** Everything where the frame has it. */
    private prepare(cast: Cast, frame: Frame): void {
        if (this.posed) return;
        cast.pose(frame, this.next, this.mix);
        this.outline.ride(cast.frames);
        this.keepUp();
        this.heldNow = cast.draw(frame, { forces: this.shown.has("forces"), contacts: this.shown.has("contacts"), error: this.shown.has("error") }, this.theme);
        const paint = this.shown.has("error") ? "error" : this.shown.has("active") ? "active" : "own";
        if (paint !== "own" || !this.painted) cast.paint(frame, paint, this.theme);
        this.posed = this.painted = true;
        if (!this.light.shadows) return;
        const { middle, radius } = cast.extent();
        this.light.aim(middle, radius);
    }

    private advanceGlide(): void {
        const { from, to, begin } = this.glide!, t = clamp((performance.now() - begin) / GLIDE, 0, 1);
        this.eye = mixEye(from, to, t * t * (3 - 2 * t));
        if (t === 1) this.glide = null; else this.invalidate();
    }

    private drawScene(): void {
        const { eye, lensCamera: camera, width, height } = this, { back, right, up } = basisOf(eye), reach = reachOf(this.cast!.sight);
        camera.fov = 2 * Math.atan(height / 2 / lens(width, height)) * 180 / Math.PI;
        camera.aspect = width / height;
        camera.near = 0.01 * eye.distance;
        camera.far = 4 * eye.distance + 12 * reach;
        camera.updateProjectionMatrix();
        camera.position.set(...positionOf(eye));
        camera.quaternion.setFromRotationMatrix(turned.makeBasis(new Vector3(...right), new Vector3(...up), new Vector3(...back)));
        this.outline.setSize(width, height);
        this.cast!.floor.update(this.cast!.poses, eye.target, eye.distance);
        this.renderer.render(this.scene, camera);
    }

    /** Labels, the most important first. */
    private wanted(): Label[] {
        const cast = this.cast!, labels: Label[] = [];
        const put = (text: string, at: Vec3 | null, tone: Label["tone"]): void => {
            const p = at && this.project(at);
            if (p && p.deep > 0 && p.x > -40 && p.y > 0 && p.x < this.width && p.y < this.height) labels.push({ text, x: p.x + 9, y: p.y - 20, tone });
        };
        for (const { point, force } of this.heldNow) if (force > 0) put(forceText(force), point, "force");
        const { selected } = this;
        if (selected) put((selected.kind === "body" ? cast.mechanism.bodies : cast.mechanism.joints)[selected.index]?.name ?? "", selected.kind === "body" ? cast.bodyPlace(selected.index) : cast.jointPlace(selected.index), "selected");
        if (this.shown.has("names")) for (const body of cast.nearest(positionOf(this.eye), 300)) {
            put(cast.mechanism.bodies[body].name, cast.bodyPlace(body), "body");
            if (this.shown.has("joints")) for (const joint of cast.jointsTo(body)) put(cast.mechanism.joints[joint]!.name, cast.jointPlace(joint), "joint");
        }
        return labels;
    }

    /** A picture of exactly that size, as it looks now, without labels. An eye that nobody has moved fits its shape. */
    async snapshot(width: number, height: number): Promise<Blob> {
        if (!this.cast || !this.frame) throw new Error("There is nothing to take a picture of yet.");
        const most = this.renderer.capabilities.maxTextureSize, fits = (x: number): boolean => Number.isInteger(x) && x > 0 && x <= most;
        if (!fits(width) || !fits(height)) throw new Error(`A picture can have 1 to ${most} pixels a side here, not ${width} x ${height}.`);
        this.prepare(this.cast, this.frame);
        if (this.glide) this.eye = this.glide.to;
        this.glide = null;
        const before = { width: this.width, height: this.height, eye: this.eye, ratio: this.renderer.getPixelRatio() };
        this.setSize(width, height, 1);
        let picture: Promise<Blob>; // a copy is taken at once: the canvas can go on
        try {
            const gl = this.renderer.getContext();
            if (gl.drawingBufferWidth !== width || gl.drawingBufferHeight !== height) throw new Error(`There is no memory for a picture of ${width} x ${height} pixels.`);
            if (!this.touched) this.eye = this.fitted(this.eye.azimuth, this.eye.elevation);
            this.drawScene();
            picture = new Promise((done, fail) => this.canvas.toBlob((blob) => blob ? done(blob) : fail(new Error("The picture could not be made.")), "image/png"));
        } finally {
            this.eye = before.eye;
            this.setSize(before.width, before.height, before.ratio);
            this.render();
        }
        return picture;
    }

    private setSize(width: number, height: number, ratio: number): void {
        this.width = width;
        this.height = height;
        this.renderer.setPixelRatio(ratio);
        this.renderer.setSize(width, height, false);
    }

    private readonly restored = (): void => {
        this.posed = this.painted = false;
        this.invalidate();
    };

    private clearCast(): void {
        this.outline.clear();
        this.trails.clear();
        if (!this.cast) return;
        this.scene.remove(this.cast.group);
        this.cast.dispose();
        this.cast = null;
        this.heldNow = [];
        this.hovered = null;
    }

    dispose(): void {
        cancelAnimationFrame(this.asked);
        this.hands.dispose();
        this.canvas.removeEventListener("webglcontextrestored", this.restored);
        this.clearCast();
        for (const part of [this.light, this.outline, this.trails, this.labels, this.renderer]) part.dispose();
    }
}
const turned = new Matrix4();
