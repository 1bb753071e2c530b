// view: the picture of a mechanism on a canvas, its camera, and hands on it.
//
// A mechanism is set once and made into a Cast; frames then move it. Pictures are drawn only when something changed, one for each
// refresh of the screen at most.
import { PCFShadowMap, PerspectiveCamera, Scene, Matrix4, Vector3, WebGLRenderer } from "three";
import type { Frame, Mechanism, Vec3 } from "../protocol";
import type { Held } from "./arrows";
import { Cast, type Hit, type Thing } from "./cast";
import { type Theme, themes } from "./colors";
import { basisOf, lens, positionOf, reachOf } from "./eye";
import { forceText } from "./forces";
import { Hands } from "./hands";
import { type Label, Labels, labelWidth } from "./labels";
import { Light } from "./light";
import { add, clamp, dot, isFinite3, scale, sub, unplace } from "./math";
import { Outline } from "./outline";
import { Seat } from "./seat";
import { Trails } from "./trails";

export type { Thing };

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
    private readonly seat = new Seat(() => this.invalidate());
    private readonly shown = new Set<Overlay>(["joints", "shadows", "grid"]);
    private theme: Theme = themes.dark;
    private cast: Cast | null = null;
    private frame: Frame | null = null;
    private next: Frame | null = null;
    private mix = 0;
    private selected: Thing | null = null;
    private hovered: Thing | null = null;
    private held: { body: number; point: Vec3 } | null = null;
    private asked = 0;         // a picture, by requestAnimationFrame
    private posed = false;     // what is drawn is where the frame has it
    private painted = false;
    private heldNow: Held[] = [];

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
            turn: (dx, dy) => this.orbit(-0.008 * dx, 0.008 * dy), pan: (dx, dy) => this.seat.pan(dx, dy),
            zoomAt: (factor, x, y) => this.seat.zoomAt(factor, x, y),
            hover: (x, y) => this.hoverAt(x, y), leave: () => this.setHovered(null),
            click: (x, y, coarse) => hooks.pick(this.thingAt(x, y, coarse)), focus: (x, y) => this.focusAt(x, y),
        });
        this.applyTheme();
        this.resize();
    }

    // ---- What is shown --------------------------------------------------------------------------

    setMechanism(mechanism: Mechanism, first: Frame, sample: Frame[] = []): void {
        const before = this.cast?.mechanism, again = before !== undefined && before.origin === mechanism.origin
            && before.scene === mechanism.scene && before.bodies.length === mechanism.bodies.length;
        this.letGo();
        this.clearCast();
        this.cast = new Cast(mechanism, first, sample, this.theme);
        this.scene.add(this.cast.group);
        this.frame = first;
        this.next = null;
        this.posed = this.painted = false;
        this.light.forget();
        this.applyTheme();
        this.applyShadows();
        this.cast.showJoints(this.shown.has("joints"));
        if (!again) this.selected = null;
        this.seat.face(this.cast, sample.length > 1, again);
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
        const things: [Thing | null, Vec3][] = [[this.selected, this.theme.accent],
            [same(this.hovered, this.selected) ? null : this.hovered, this.theme.hover]];
        const outlined = things.flatMap(([thing, color]) => thing ? this.cast!.piecesOf(thing).map((piece) => ({ ...piece, color })) : []);
        this.outline.set(outlined, this.cast.layout.solids, this.cast.fine);
        this.outline.ride(this.cast.frames);
    }

    // ---- The eye ----------------------------------------------------------------------------------

    setFollow(body: number | null): void { this.seat.follow(body); }
    fit(): void { this.seat.fit(); }
    lookFrom(azimuth: number, elevation: number): void { this.seat.lookFrom(azimuth, elevation); }
    /** Where it will be when it has glided there. */
    camera(): { position: Vec3; target: Vec3 } { return { position: positionOf(this.seat.goal), target: this.seat.goal.target }; }
    orbit(dAzimuth: number, dElevation: number): void { this.seat.orbit(dAzimuth, dElevation); }
    zoom(factor: number): void { this.seat.zoomAt(factor, this.seat.width / 2, this.seat.height / 2); }

    private focusAt(x: number, y: number): void {
        const thing = this.thingAt(x, y, false), sight = thing && this.cast?.around(thing);
        if (sight) this.seat.focus(sight); else this.fit();
    }

    // ---- What is under the pointer ----------------------------------------------------------------

    /** A joint near the pointer, unless a body hides it by far; else the body. */
    private thingAt(x: number, y: number, coarse: boolean): Thing | null {
        const cast = this.cast;
        if (!cast) return null;
        const hit = cast.hit(this.seat.ray(x, y)), behind = hit ? this.seat.project(hit.point).deep + 0.4 * cast.unit : Infinity;
        let best: Thing | null = hit ? { kind: "body", index: hit.body } : null, near = coarse ? 2 * NEAR_JOINT : NEAR_JOINT;
        if (this.shown.has("joints")) cast.mechanism.joints.forEach((_, index) => {
            const at = cast.jointPlace(index), p = at && this.seat.project(at);
            if (!p || !(p.deep > 0) || p.deep > behind || Math.hypot(p.x - x, p.y - y) >= near) return;
            near = Math.hypot(p.x - x, p.y - y);
            best = { kind: "joint", index };
        });
        return best;
    }

    private freeHit(x: number, y: number): Hit | null {
        const hit = this.canGrab && this.cast ? this.cast.hit(this.seat.ray(x, y)) : null;
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
        const { origin, direction } = this.seat.ray(x, y), { back } = basisOf(this.seat.eye), slope = dot(direction, back);
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
        const width = Math.max(1, this.canvas.clientWidth), height = Math.max(1, this.canvas.clientHeight),
            ratio = Math.min(2, devicePixelRatio || 1);
        if (width === this.seat.width && height === this.seat.height && ratio === this.renderer.getPixelRatio()) return;
        this.setSize(width, height, ratio);
        if (this.cast) this.render(); // a new size empties the canvas
    }

    render(): void {
        if (!this.cast || !this.frame) return;
        this.prepare(this.cast, this.frame);
        if (this.seat.advance()) this.invalidate();
        this.drawScene();
        this.labels.show(this.wanted());
    }

    /** Everything where the frame has it. */
    private prepare(cast: Cast, frame: Frame): void {
        if (this.posed) return;
        cast.pose(frame, this.next, this.mix);
        this.outline.ride(cast.frames);
        this.seat.keepUp(this.hands.busy);
        this.heldNow = cast.draw(frame, { forces: this.shown.has("forces"), contacts: this.shown.has("contacts"),
            error: this.shown.has("error") }, this.theme);
        const paint = this.shown.has("error") ? "error" : this.shown.has("active") ? "active" : "own";
        if (paint !== "own" || !this.painted) cast.paint(frame, paint, this.theme);
        this.posed = this.painted = true;
        const { middle, radius } = cast.settle();
        this.light.aim(middle, radius);
    }

    private drawScene(): void {
        const { lensCamera: camera } = this, { eye, width, height } = this.seat, { back, right, up } = basisOf(eye),
            reach = reachOf(this.cast!.sight);
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
            const p = at && this.seat.project(at);
            const inside = p && p.deep > 0 && p.x > -40 && p.y > 0 && p.x < this.seat.width && p.y < this.seat.height;
            if (inside) labels.push({ text, x: Math.min(p.x + 9, this.seat.width - labelWidth(text)), y: p.y - 20, tone });
        };
        for (const { point, force } of this.heldNow) if (force > 0) put(forceText(force), point, "force");
        const { selected } = this;
        if (selected) put(cast.nameOf(selected), cast.placeOf(selected), "selected");
        const bodies = this.shown.has("names") ? cast.nearest(positionOf(this.seat.eye), 300) : [];
        for (const body of bodies) put(cast.mechanism.bodies[body].name, cast.bodyPlace(body), "body");
        for (const body of this.shown.has("joints") ? bodies : [])
            for (const joint of cast.jointsTo(body)) put(cast.mechanism.joints[joint]!.name, cast.jointPlace(joint), "joint");
        return labels;
    }

    /** A picture of exactly that size, as it looks now, without labels. An eye that nobody has moved fits its shape. */
    async snapshot(width: number, height: number): Promise<Blob> {
        if (!this.cast || !this.frame) throw new Error("There is nothing to take a picture of yet.");
        const most = this.renderer.capabilities.maxTextureSize, fits = (x: number): boolean => Number.isInteger(x) && x > 0 && x <= most;
        if (!fits(width) || !fits(height)) throw new Error(`A picture can have 1 to ${most} pixels a side here, not ${width} x ${height}.`);
        this.prepare(this.cast, this.frame);
        this.seat.arrive();
        const { width: wide, height: high, eye } = this.seat, ratio = this.renderer.getPixelRatio();
        const other = width !== wide || height !== high || ratio !== 1;
        if (other) this.setSize(width, height, 1);
        let picture: Promise<Blob>; // a copy is taken at once: the canvas can go on
        try {
            const gl = this.renderer.getContext();
            const made = gl.drawingBufferWidth === width && gl.drawingBufferHeight === height;
            if (!made) throw new Error(`There is no memory for a picture of ${width} x ${height} pixels.`);
            this.drawScene();
            picture = new Promise((done, fail) => this.canvas.toBlob((blob) => {
                if (blob) done(blob); else fail(new Error("The picture could not be made."));
            }, "image/png"));
        } finally {
            if (other) {
                this.setSize(wide, high, ratio);
                this.seat.eye = eye;
                this.render();
            }
        }
        return picture;
    }

    private setSize(width: number, height: number, ratio: number): void {
        this.renderer.setPixelRatio(ratio);
        this.renderer.setSize(width, height, false);
        this.seat.resize(width, height);
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
