// trails: paths of joints, what has happened bright and what will dim.
import { Group } from "three";
import { Line2 } from "three/addons/lines/Line2.js";
import { LineGeometry } from "three/addons/lines/LineGeometry.js";
import { LineMaterial } from "three/addons/lines/LineMaterial.js";
import type { Vec3 } from "../protocol";
import type { Theme } from "./colors";

interface Trail { points: Vec3[]; count: number; past: Line2; whole: Line2; geometries: [LineGeometry, LineGeometry] }

export class Trails {
    readonly group = new Group();
    private readonly trails = new Map<number, Trail>();
    private readonly past = new LineMaterial({ linewidth: 2.5 });
    private readonly whole = new LineMaterial({ linewidth: 1.5, transparent: true, opacity: 0.35, depthWrite: false });

    /** The same array of the same length as before is not copied again. done: how many of its points have happened. */
    set(joint: number, points: Vec3[] | null, done?: number): void {
        let trail = this.trails.get(joint);
        if (trail && (trail.points !== points || trail.count !== points.length)) {
            this.remove(joint, trail);
            trail = undefined;
        }
        if (!points || points.length < 2) return;
        if (!trail) this.trails.set(joint, trail = this.make(points));
        trail.geometries[0].instanceCount = Math.max(0, Math.min(points.length, done ?? points.length) - 1);
    }

    private make(points: Vec3[]): Trail {
        const flat = new Float32Array(points.flat()), line = (): LineGeometry => new LineGeometry().setPositions(flat);
        const geometries: [LineGeometry, LineGeometry] = [line(), line()];
        const trail = { points, count: points.length, past: new Line2(geometries[0], this.past),
            whole: new Line2(geometries[1], this.whole), geometries };
        trail.past.frustumCulled = trail.whole.frustumCulled = false;
        this.group.add(trail.past, trail.whole);
        return trail;
    }

    private remove(joint: number, trail: Trail): void {
        this.group.remove(trail.past, trail.whole);
        for (const geometry of trail.geometries) geometry.dispose();
        this.trails.delete(joint);
    }

    setTheme(theme: Theme): void { for (const material of [this.past, this.whole]) material.color.setRGB(...theme.trail, "srgb"); }

    clear(): void { for (const [joint, trail] of [...this.trails]) this.remove(joint, trail); }

    dispose(): void {
        this.clear();
        this.past.dispose();
        this.whole.dispose();
    }
}
