// plots: energy, joint error, step time, and whatever of single joints somebody wants to see.
import { el } from "./dom";
import type { History } from "./history";
import { Plot, type Line } from "./plot";
import { FORCE, Part, type Frame, type Mechanism } from "./protocol";

export const QUANTITIES = {
    coordinate: { title: "Joint coordinates", unit: "rad or m", part: Part.coordinates },
    force: { title: "Joint forces", unit: "N", part: Part.forces },
    torque: { title: "Joint torques", unit: "N m", part: Part.forces },
} as const;
export type Quantity = keyof typeof QUANTITIES;

interface Watched {
    quantity: Quantity;
    joint: number;
    /** Which of its coordinates. */
    k: number;
}

const COLORS = 6, PERIOD = 120; // a simulation's plots are drawn that often [ms]

const size = (v: Float32Array, at: number): number => Math.hypot(v[at], v[at + 1], v[at + 2]);

function valueOf({ quantity, joint, k }: Watched, mechanism: Mechanism): (frame: Frame) => number | null {
    if (quantity === "coordinate") {
        const at = (mechanism.joints[joint]?.start ?? 0) + k;
        return (frame) => frame.coordinates?.[at] ?? null;
    }
    const at = FORCE * joint + (quantity === "torque" ? 3 : 0);
    return (frame) => frame.forces && at < frame.forces.length ? size(frame.forces, at) : null;
}

export class Plots {
    private plots: Plot[] = [];
    private watched: Watched[] = [];
    private mechanism: Mechanism | null = null;
    private readonly list = el("div", { className: "plots" });
    private readonly options = el("datalist", { id: "joint-quantities" });
    private readonly choice = el("input", { type: "text", placeholder: "add a joint: its coordinate, force or torque", autocomplete: "off" });
    private readonly window = el("select", { title: "how much of the past plots show" });
    private choices = new Map<string, Watched>();
    private drawn = 0;
    private stale = true;

    /** changed: which parts of frames are needed may have changed. */
    constructor(host: HTMLElement, private readonly history: History, private readonly live: boolean,
        private readonly seek: (time: number) => void, private readonly changed: () => void) {
        this.choice.setAttribute("list", this.options.id);
        this.choice.setAttribute("aria-label", "Plot a joint's coordinate, force or torque");
        this.choice.oninput = () => {
            const watched = this.choices.get(this.choice.value);
            if (!watched) return;
            this.choice.value = "";
            this.watch(watched.quantity, watched.joint, watched.k);
        };
        this.window.setAttribute("aria-label", "How much of the past plots show");
        for (const [value, text] of [["0", "all"], ["60", "last 60 s"], ["20", "last 20 s"], ["5", "last 5 s"]]) this.window.append(el("option", { value }, text));
        this.window.value = live ? "20" : "0";
        this.window.onchange = () => { this.stale = true; };
        host.append(this.list, el("div", { className: "row" }, this.choice, this.window, this.options));
    }

    /** Parts of frames that the plots need. */
    parts(): number { return this.watched.reduce((sum, { quantity }) => sum | QUANTITIES[quantity].part, 0); }

    setMechanism(mechanism: Mechanism, recorded: Frame | null): void {
        this.mechanism = mechanism;
        this.watched = [];
        this.choices.clear();
        const has = (quantity: Quantity): boolean => !recorded || (recorded.parts & QUANTITIES[quantity].part) !== 0;
        mechanism.joints.forEach((joint, j) => {
            if (!joint || j >= 2000) return; // more than a list can offer; a click on a joint still works
            for (let k = 0; has("coordinate") && k < joint.coordinates; ++k) {
                this.choices.set(`${joint.name}: coordinate${joint.coordinates > 1 ? ` ${k + 1}` : ""}`, { quantity: "coordinate", joint: j, k });
            }
            if (has("force")) this.choices.set(`${joint.name}: force`, { quantity: "force", joint: j, k: 0 });
            if (has("force")) this.choices.set(`${joint.name}: torque`, { quantity: "torque", joint: j, k: 0 });
        });
        this.choice.hidden = this.choices.size === 0;
        this.options.replaceChildren(...[...this.choices.keys()].map((value) => el("option", { value })));
        this.build();
    }

    isWatched(quantity: Quantity, joint: number): boolean {
        return this.watched.some((other) => other.quantity === quantity && other.joint === joint);
    }

    watch(quantity: Quantity, joint: number, k = 0): void {
        if (this.watched.some((other) => other.quantity === quantity && other.joint === joint && other.k === k)) return;
        this.watched.push({ quantity, joint, k });
        this.build();
        this.changed();
        this.plots[this.plots.length - 1]?.element.scrollIntoView({ block: "nearest" });
    }

    /** All of a joint's coordinates, or its force, come or go. */
    toggle(quantity: Quantity, joint: number): void {
        if (this.isWatched(quantity, joint)) {
            this.watched = this.watched.filter((other) => other.quantity !== quantity || other.joint !== joint);
            this.build();
            this.changed();
        } else {
            const count = quantity === "coordinate" ? this.mechanism?.joints[joint]?.coordinates ?? 0 : 1;
            for (let k = 0; k < count; ++k) this.watch(quantity, joint, k);
        }
    }

    private build(): void {
        const { mechanism, seek } = this;
        if (!mechanism) return;
        for (const plot of this.plots) plot.dispose();
        const energy: Line[] = [
            { label: "kinetic", color: "--kinetic", value: (f) => f.kinetic },
            { label: "potential", color: "--potential", value: (f) => f.gravity + f.elastic },
            { label: "total", color: "--total", value: (f) => f.kinetic + f.gravity + f.elastic },
        ];
        this.plots = [new Plot(energy, { title: "Energy", unit: "J", seek })];
        if (mechanism.counts.joints) {
            const error: Line = { label: "", color: "--error", value: (f) => f.jointError };
            this.plots.push(new Plot([error], { title: "Joint error", unit: "m or rad", log: true, seek }));
        }
        if (this.live || (this.history.last?.stepSeconds ?? 0) > 0) {
            const time: Line = { label: "", color: "--time", value: (f) => f.stepSeconds > 0 ? 1e3 * f.stepSeconds : null };
            this.plots.push(new Plot([time], { title: "Step time", unit: "ms", seek }));
        }
        for (const quantity of Object.keys(QUANTITIES) as Quantity[]) this.buildJoints(quantity, mechanism);
        this.list.replaceChildren(...this.plots.map((plot) => plot.element));
        this.stale = true;
    }

    private buildJoints(quantity: Quantity, mechanism: Mechanism): void {
        const watched = this.watched.filter((other) => other.quantity === quantity);
        if (!watched.length) return;
        const lines = watched.map((one, i) => {
            const joint = mechanism.joints[one.joint], which = quantity === "coordinate" && (joint?.coordinates ?? 0) > 1 ? ` ${one.k + 1}` : "";
            return { label: (joint?.name ?? "joint") + which, color: `--line${i % COLORS + 1}`, value: valueOf(one, mechanism) };
        });
        const remove = (line: number): void => {
            this.watched = this.watched.filter((other) => other !== watched[line]);
            this.build();
            this.changed();
        };
        this.plots.push(new Plot(lines, { ...QUANTITIES[quantity], seek: this.seek, remove }));
    }

    /** Draws what has changed: new frames of a simulation, or another size. */
    update(frame: Frame, now: number, grown: boolean): void {
        const { history } = this, stamp = performance.now();
        if (this.stale || (grown && stamp - this.drawn > PERIOD)) {
            const length = Number(this.window.value), end = length ? Math.max(Math.min(history.end, now + length / 2), Math.min(history.end, history.start + length)) : history.end;
            for (const plot of this.plots) plot.draw(history, length ? Math.max(history.start, end - length) : history.start, end);
            this.drawn = stamp;
            this.stale = false;
        }
        for (const plot of this.plots) plot.show(frame, now);
    }

    /** To be drawn again at the next update. */
    refresh(): void { this.stale = true; }

    recolor(): void {
        for (const plot of this.plots) plot.recolor();
    }
}
