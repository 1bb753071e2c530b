// seat: from where the mechanism is watched: fitted at first, then as somebody chooses, gliding where it leaps.
//
// It goes with a body that is followed and with a mechanism that travels. Of a live one the whole motion is not known: as
// long as nobody has chosen, the eye steps back when it leaves the picture.
import type { Vec3 } from "../protocol";
import type { Cast } from "./cast";
import { basisOf, type Eye, fitEye, lens, mixEye, orbited, outline, positionOf, reachOf, type Sight, startView, STEEPEST } from "./eye";
import { add, clamp, dot, isFinite3, scale, sub, unit } from "./math";
import type { Ray } from "./pick";

const GLIDE = 320; // milliseconds from one eye to another

export class Seat {
    eye: Eye = { azimuth: -1.05, elevation: 0.35, distance: 5, target: [0, 0, 0] };
    width = 1; // of the picture, in CSS pixels
    height = 1;
    private cast: Cast | null = null;
    private glide: { to: Eye; from: Eye; begin: number } | null = null;
    private chosen = false;   // somebody has said where the eye is
    private recorded = false; // the whole motion is known
    private followed: number | null = null;
    private last: Vec3 = [0, 0, 0]; // where that was which the eye goes with

    constructor(private readonly changed: () => void) {}

    /** Something to look at. again: it is the same as before, and an eye that was chosen stays. */
    face(cast: Cast, recorded: boolean, again: boolean): void {
        this.cast = cast;
        this.recorded = recorded;
        if (!again) {
            this.followed = null;
            this.chosen = false;
        }
        this.last = this.companion() ?? [0, 0, 0];
        if (!this.chosen) this.go(this.fitted(), false);
    }

    /** Where the eye is, or will be when it has glided there. */
    get goal(): Eye { return this.glide?.to ?? this.eye; }

    private go(eye: Eye, gliding: boolean): void {
        const leap = !gliding || matchMedia("(prefers-reduced-motion: reduce)").matches;
        this.glide = leap ? null : { from: this.eye, to: eye, begin: performance.now() };
        if (leap) this.eye = eye;
        this.changed();
    }

    /** On the way. True: not there yet. */
    advance(): boolean {
        if (!this.glide) return false;
        const { from, to, begin } = this.glide, t = clamp((performance.now() - begin) / GLIDE, 0, 1);
        this.eye = mixEye(from, to, t * t * (3 - 2 * t));
        if (t === 1) this.glide = null;
        return t < 1;
    }

    arrive(): void {
        this.eye = this.goal;
        this.glide = null;
    }

    private fitted(azimuth?: number, elevation?: number): Eye {
        const { sight } = this.cast!, start = startView(sight);
        const eye = fitEye(sight, azimuth ?? start.azimuth, elevation ?? start.elevation, this.width, this.height);
        return { ...eye, target: add(eye.target, this.cast!.gone()) };
    }

    fit(): void {
        if (!this.cast) return;
        this.chosen = false;
        if (!this.recorded) this.cast.seeNow();
        this.go(this.fitted(this.goal.azimuth, this.goal.elevation), true);
    }

    lookFrom(azimuth: number, elevation: number): void {
        if (!this.cast) return;
        this.chosen = false;
        this.go(this.fitted(azimuth, clamp(elevation, -STEEPEST, STEEPEST)), true);
    }

    /** Another shape of the picture; an eye that nobody has chosen is fitted to it. */
    resize(width: number, height: number): void {
        this.width = width;
        this.height = height;
        if (this.cast && !this.chosen) this.go(this.fitted(this.goal.azimuth, this.goal.elevation), false);
    }

    follow(body: number | null): void {
        const at = body === null ? null : this.cast?.bodyPlace(body) ?? null;
        this.followed = at ? body : null;
        this.last = this.companion() ?? this.last;
        if (!at) return;
        this.chosen = true;
        this.go({ ...this.goal, target: at }, true);
    }

    orbit(dAzimuth: number, dElevation: number): void {
        this.chosen = true;
        this.go(orbited(this.goal, dAzimuth, dElevation), false);
    }

    /** What is at a pixel stays there. */
    zoomAt(factor: number, x: number, y: number): void {
        const size = this.cast ? reachOf(this.cast.sight) : 1, eye = this.goal,
            distance = clamp(eye.distance * factor, 0.01 * size, 60 * size);
        this.chosen = true;
        this.go({ ...eye, distance, target: this.aside(eye, x - this.width / 2, y - this.height / 2, eye.distance - distance) }, false);
    }

    pan(dx: number, dy: number): void {
        const eye = this.goal;
        this.chosen = true;
        this.go({ ...eye, target: this.aside(eye, -dx, -dy, eye.distance) }, false);
    }

    /** The target moved by so many pixels of a thing so far away. */
    private aside(eye: Eye, dx: number, dy: number, distance: number): Vec3 {
        const { right, up } = basisOf(eye), s = distance / lens(this.width, this.height);
        return add(eye.target, add(scale(right, dx * s), scale(up, -dy * s)));
    }

    /** Nearer, to see something. */
    focus(sight: Sight): void {
        const eye = fitEye(sight, this.goal.azimuth, this.goal.elevation, this.width, this.height);
        this.chosen = true;
        this.go({ ...eye, distance: Math.max(2.2 * eye.distance, 0.02 * reachOf(this.cast!.sight)) }, true);
    }

    private companion(): Vec3 | null {
        const at = this.followed !== null ? this.cast?.bodyPlace(this.followed) : this.cast?.centre();
        return at && isFinite3(at) ? at : null;
    }

    /** After bodies have moved. busy: somebody has a hand on the picture. */
    keepUp(busy: boolean): void {
        const cast = this.cast!, at = this.companion();
        if (at && (this.followed !== null || cast.travels)) this.shift(sub(at, this.last));
        this.last = at ?? this.last;
        if (this.followed !== null || this.chosen || this.recorded || busy || this.glide) return;
        const { low, high } = outline(cast.now(500).balls, this.eye, this.width, this.height);
        if ((low[0] > -1 && low[1] > -1 && high[0] < 1 && high[1] < 1) || reachOf(cast.sight) > 8 * cast.size) return;
        if (!cast.goWith()) cast.seeNow();
        this.go(this.fitted(this.eye.azimuth, this.eye.elevation), true);
    }

    private shift(d: Vec3): void {
        const shifted = (eye: Eye): Eye => ({ ...eye, target: add(eye.target, d) });
        this.eye = shifted(this.eye);
        if (this.glide) this.glide = { ...this.glide, from: shifted(this.glide.from), to: shifted(this.glide.to) };
    }

    /** The ray through a pixel. */
    ray(x: number, y: number): Ray {
        const { back, right, up } = basisOf(this.eye), zoom = lens(this.width, this.height);
        const aside = add(scale(right, (x - this.width / 2) / zoom), scale(up, (this.height / 2 - y) / zoom));
        return { origin: positionOf(this.eye), direction: unit(sub(aside, back)) };
    }

    /** Pixels from the upper left corner, and how far before the eye. */
    project(p: Vec3): { x: number; y: number; deep: number } {
        const { back, right, up } = basisOf(this.eye), d = sub(p, this.eye.target), deep = this.eye.distance - dot(d, back),
            s = lens(this.width, this.height) / deep;
        return { x: this.width / 2 + s * dot(d, right), y: this.height / 2 - s * dot(d, up), deep };
    }
}
