// overlays: what is shown on top of the mechanism, a checkbox each, and which parts of frames that needs.
import { el } from "./dom";
import { Part, type Frame } from "./protocol";
import { errorColor } from "./view/colors";
import type { Overlay, View } from "./view/view";

export const OVERLAYS: { name: Overlay; label: string; help: string; part: number; on: boolean }[] = [
    { name: "error", label: "joint error", help: "joints in the colour of their error", part: Part.errors, on: false },
    { name: "forces", label: "reaction forces", help: "reaction forces of the joints", part: Part.forces, on: false },
    { name: "contacts", label: "contacts", help: "contact points and their forces", part: Part.contacts, on: false },
    { name: "active", label: "active joints", help: "which joints are simulated and which are frozen", part: Part.active, on: true },
    { name: "names", label: "names", help: "of bodies and joints", part: 0, on: false },
    { name: "joints", label: "joints", help: "a mark for each", part: 0, on: true },
    { name: "shadows", label: "shadows", help: "on the ground", part: 0, on: true },
    { name: "grid", label: "grid", help: "the ground's", part: 0, on: true },
];

export const isOverlay = (name: string): name is Overlay => OVERLAYS.some((overlay) => overlay.name === name);

export class OverlayPanel {
    private readonly boxes = new Map<Overlay, HTMLInputElement>();
    private readonly legend = el("div", { className: "legend", hidden: true });

    constructor(host: HTMLElement, private readonly changed: (name: Overlay, on: boolean) => void) {
        const grid = el("div", { className: "checks" });
        OVERLAYS.forEach((overlay, i) => {
            const box = el("input", { type: "checkbox", checked: overlay.on, onchange: () => this.set(overlay.name, box.checked) });
            grid.append(el("label", { title: `${overlay.help} (key ${i + 1})`, data: { overlay: overlay.name } }, box, overlay.label));
            this.boxes.set(overlay.name, box);
        });
        const stops = Array.from({ length: 13 }, (_, i) => errorColor(10 ** (i - 15)));
        const bar = el("i");
        bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
        this.legend.append(bar, el("span", {}, "1e-15"), el("span", {}, "1e-9"), el("span", {}, "1e-3 m or rad"));
        host.append(grid, this.legend);
    }

    set(name: Overlay, on: boolean): void {
        const box = this.boxes.get(name);
        if (!box || box.disabled) return;
        this.changed(name, on);
    }

    /** Boxes say what the view has. */
    follow(view: View): void {
        for (const [name, box] of this.boxes) box.checked = view.overlay(name);
        this.legend.hidden = !view.overlay("error");
    }

    toggle(index: number): void {
        const name = OVERLAYS[index]?.name;
        if (name) this.set(name, !this.on(name));
    }

    on(name: Overlay): boolean { return this.boxes.get(name)?.checked ?? false; }

    /** Parts of frames that what is on needs. */
    parts(): number {
        return OVERLAYS.reduce((sum, overlay) => sum | (this.usable(overlay.name) && this.on(overlay.name) ? overlay.part : 0), 0);
    }

    private usable(name: Overlay): boolean { return !this.boxes.get(name)?.disabled; }

    /** recorded: a frame of a recording, whose parts are all there is; null: parts come when they are asked for. */
    adapt(adaptive: boolean, recorded: Frame | null): void {
        for (const overlay of OVERLAYS) {
            const box = this.boxes.get(overlay.name), label = box?.parentElement;
            if (!box || !label) continue;
            const missing = recorded !== null && (recorded.parts & overlay.part) !== overlay.part;
            label.hidden = overlay.name === "active" && (!adaptive || missing);
            box.disabled = missing || label.hidden;
            label.title = missing ? "not in this recording" : `${overlay.help} (key ${OVERLAYS.indexOf(overlay) + 1})`;
        }
    }
}
