// trails: paths of joints through the history.
import type { History } from "./history";
import { trail } from "./points";
import type { Mechanism, Vec3 } from "./protocol";
import type { View } from "./view/view";

const PERIOD = 100; // a growing history's paths are made anew that often [ms]

export class Trails {
    private readonly paths = new Map<number, { points: Vec3[]; stamp: number; count: number; start: number }>();

    constructor(private readonly view: View, private readonly history: History) {}

    has(joint: number): boolean { return this.paths.has(joint); }

    toggle(joint: number): void {
        if (this.paths.delete(joint)) this.view.setTrail(joint, null);
        else this.paths.set(joint, { points: [], stamp: 0, count: 0, start: NaN });
    }

    clear(): void {
        for (const joint of this.paths.keys()) this.view.setTrail(joint, null);
        this.paths.clear();
    }

    /** index: of the frame that is shown. */
    update(mechanism: Mechanism, index: number): void {
        const { history } = this, stamp = performance.now();
        for (const [joint, path] of this.paths) {
            const same = path.count === history.count && path.start === history.start;
            if (!same && (stamp - path.stamp > PERIOD || history.count < path.count)) {
                Object.assign(path, { points: trail(mechanism, joint, history), stamp, count: history.count, start: history.start });
            }
            const done = Math.min(path.points.length, Math.ceil(path.points.length * (index + 1) / Math.max(1, path.count)));
            this.view.setTrail(joint, path.points, done);
        }
    }
}
