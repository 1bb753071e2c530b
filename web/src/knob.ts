// knob: a slider and its number. What the simulation says is what it shows, except while it is in somebody's hand.
import { el } from "./dom";
import { short } from "./format";
import type { Scale } from "./scale";

const SETTLE = 600; // after a change, the time the simulation has to say otherwise [ms]

export class Knob {
    readonly element: HTMLElement;
    private readonly range = el("input", { type: "range", min: "0", max: "1", step: "any" });
    private readonly number = el("input", { type: "text", inputMode: "decimal", autocomplete: "off" });
    private truth = 0;
    private held = false;

    constructor(label: string, unit: string, private scale: Scale, private readonly act: (value: number) => void) {
        this.element = el("div", { className: "knob" }, el("span", { className: "label" }, label), this.range, this.number, el("span", { className: "unit" }, unit));
        this.range.setAttribute("aria-label", label);
        this.number.setAttribute("aria-label", `${label} ${unit}`.trim());
        this.range.oninput = () => {
            this.held = true;
            const value = this.scale.value(Number(this.range.value));
            this.write(value);
            this.act(value);
        };
        this.range.onchange = () => this.settle();
        this.number.onchange = () => {
            const value = Number(this.number.value.replace(",", "."));
            if (this.number.value.trim() && Number.isFinite(value)) this.act(value);
            this.settle();
        };
        this.number.onkeydown = (event) => { if (event.key === "Enter") this.number.blur(); };
    }

    show(value: number, scale = this.scale): void {
        this.truth = value;
        this.scale = scale;
        if (!this.held && document.activeElement !== this.number) this.draw();
    }

    private settle(): void {
        setTimeout(() => {
            this.held = false;
            if (document.activeElement !== this.number) this.draw();
        }, SETTLE);
    }

    private draw(): void {
        this.range.value = String(this.scale.place(this.truth));
        this.write(this.truth);
    }

    private write(value: number): void {
        this.number.value = short(value);
        this.range.setAttribute("aria-valuetext", short(value));
    }
}
