// edit: hands on the simulation: gravity, step, method, the selected joint, every setting. What it shows is what the simulation says;
// a value that is refused goes back by itself.
import { el } from "./dom";
import { Knob } from "./knob";
import type { Joint, JointSettings, Mechanism, Settings, Vec3 } from "./protocol";
import { linear, logarithmic, logarithmicOrZero, whole, type Scale } from "./scale";

export const METHODS = ["auto", "multiplier", "implicit", "impulse", "adaptive"];
const AUTO = "auto (one step for everything)";

/** Types whose first coordinates are lengths: how many. After them come angles. */
const LENGTHS: Record<string, number> = { slider: 1, plane: 2, point_on_line: 1, point_on_plane: 2 };

function restScale(joint: Joint, k: number): Scale {
    if (k === 0 && joint.limit && joint.limit[0] < joint.limit[1]) return linear(joint.limit[0], joint.limit[1]);
    const length = k < (LENGTHS[joint.type] ?? 0) || (joint.type === "cylinder" && k === 1);
    return length ? linear(-1, 1) : linear(-Math.PI, Math.PI);
}

/** often: a command that may come many times a second, under a key of its own. */
export type Often = (key: string, command: string) => void;

export class EditPanel {
    private readonly gravity: Knob[];
    private readonly h: Knob;
    private readonly method = el("select");
    private readonly active: Knob;
    private readonly ofJoint = el("div", { className: "of-joint" });
    private jointKnobs: ((settings: JointSettings) => void)[] = [];
    private joint = -1;
    private readonly rows = new Map<string, HTMLInputElement>();
    private readonly all = el("div", { className: "all-settings" });
    private readonly search = el("input", { type: "search", placeholder: "search settings" });
    private settings: Settings | null = null;

    constructor(host: HTMLElement, private readonly send: (command: string) => void, private readonly often: Often) {
        const pull = (k: number) => (value: number): void => {
            const g: Vec3 = [...(this.settings?.gravity ?? [0, 0, 0])];
            g[k] = value;
            often("gravity", `gravity ${g.join(" ")}`);
        };
        this.gravity = ["gravity z", "gravity x", "gravity y"].map((label, i) => new Knob(label, "m/s\u00b2", linear(-20, 20), pull((i + 2) % 3)));
        this.h = new Knob("step h", "s", logarithmic(1e-4, 0.1), (value) => often("h", `set h ${value}`));
        this.active = new Knob("active joints", "", whole(1, 1), (value) => often("active", `set adaptive.active ${Math.max(1, Math.round(value))}`));
        for (const name of METHODS) this.method.append(el("option", { value: name }, name === "auto" ? AUTO : name));
        this.method.setAttribute("aria-label", "Method");
        this.method.onchange = () => send(`set method ${this.method.value}`);
        this.search.setAttribute("aria-label", "Search settings");
        this.search.oninput = () => this.filter();
        host.append(
            this.ofJoint, el("div", { className: "knob" }, el("span", { className: "label" }, "method"), this.method), this.h.element, this.active.element,
            ...this.gravity.map((knob) => knob.element),
            el("details", {}, el("summary", {}, "all settings"), this.search, this.all));
    }

    /** The joint whose values are to be set; null: none. */
    select(joint: number | null, mechanism: Mechanism): void {
        this.joint = joint ?? -1;
        this.jointKnobs = [];
        this.ofJoint.replaceChildren();
        const j = joint === null ? null : mechanism.joints[joint], now = joint === null ? null : this.settings?.joints?.[joint];
        if (!j || !now) return;
        const knob = (label: string, unit: string, scale: Scale, what: string, read: (s: JointSettings) => number, k?: number): void => {
            const command = (value: number): string => `joint ${joint} ${what} ${value}${k === undefined ? "" : ` ${k}`}`;
            const made = new Knob(label, unit, scale, (value) => this.often(`${joint} ${what} ${k ?? 0}`, command(value)));
            this.ofJoint.append(made.element);
            this.jointKnobs.push((settings) => made.show(read(settings)));
        };
        this.ofJoint.append(el("h3", {}, j.name));
        if (now.velocity !== null) knob("motor velocity", "/s", linear(-10, 10), "velocity", (s) => s.velocity ?? 0);
        if (j.coordinates) {
            knob("stiffness", "", logarithmicOrZero(1e-2, 1e6), "stiffness", (s) => s.stiffness);
            knob("damping", "", logarithmicOrZero(1e-3, 1e4), "damping", (s) => s.damping);
        }
        now.rest.forEach((_, k) => {
            const scale = restScale(j, k), many = now.rest.length > 1;
            knob(many ? `target ${k + 1}` : "target", "", scale, "rest", (s) => s.rest[k] ?? 0, many ? k : undefined);
        });
        this.showJoint();
    }

    private showJoint(): void {
        const now = this.settings?.joints?.[this.joint];
        if (now) for (const show of this.jointKnobs) show(now);
    }

    /** What the simulation says; after a refusal it is said again. */
    show(settings: Settings, mechanism: Mechanism): void {
        this.settings = settings;
        [2, 0, 1].forEach((k, i) => this.gravity[i].show(settings.gravity[k]));
        this.h.show(settings.h);
        this.method.value = settings.values.method ?? settings.method;
        const moving = Math.max(1, mechanism.counts.moving), active = Number(settings.values["adaptive.active"] ?? 0);
        this.active.element.hidden = settings.method !== "adaptive";
        this.active.show(active > 0 ? active : moving, whole(1, moving));
        this.showJoint();
        this.showAll(settings.values);
    }

    private showAll(values: Record<string, string>): void {
        for (const [key, value] of Object.entries(values)) {
            let input = this.rows.get(key);
            if (!input) {
                const made = el("input", { type: "text", autocomplete: "off", spellcheck: false });
                made.onchange = () => this.send(`set ${key} ${made.value.trim()}`);
                made.onkeydown = (event) => { if (event.key === "Enter") made.blur(); };
                this.all.append(el("label", { data: { key } }, el("span", {}, key), made));
                this.rows.set(key, input = made);
            }
            if (document.activeElement !== input) input.value = value;
        }
        this.filter();
    }

    private filter(): void {
        const words = this.search.value.toLowerCase().split(/\s+/);
        for (const row of this.all.children) {
            if (row instanceof HTMLElement) row.hidden = !words.every((word) => (row.dataset.key ?? "").toLowerCase().includes(word));
        }
    }
}
