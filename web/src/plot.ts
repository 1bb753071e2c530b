// plot: some lines over time with a cursor at the moment that is shown. A click goes to another moment.
import uPlot from "uplot";
import { decimate } from "./decimate";
import { el, iconButton, setText } from "./dom";
import { short } from "./format";
import type { History } from "./history";
import type { Frame } from "./protocol";

export interface Line {
    label: string;
    /** A property of the style sheet. */
    color: string;
    value(frame: Frame): number | null;
}

export interface PlotOptions {
    title: string;
    unit: string;
    log?: boolean;
    seek(time: number): void;
    /** Where a line can be taken out. */
    remove?(line: number): void;
}

const HEIGHT = 118;

const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** From the least to the largest, and never nothing; by powers of ten where the scale is. */
function span(log: boolean, low: number | null, high: number | null): [number, number] {
    if (low === null || high === null) return log ? [1e-17, 1] : [0, 1];
    if (log) return [10 ** Math.floor(Math.log10(low) - 0.01), 10 ** Math.ceil(Math.log10(high) + 0.01)];
    const size = Math.max(Math.abs(low), Math.abs(high)), room = Math.max(0.06 * (high - low), 1e-4 * size, 1e-12);
    return [low - room, high + room];
}

export class Plot {
    readonly element: HTMLElement;
    private readonly values: HTMLElement[] = [];
    private readonly cursor = el("div", { className: "cursor" });
    private readonly box = el("div", { className: "canvas" });
    private readonly chart: uPlot;

    constructor(private readonly lines: Line[], private readonly options: PlotOptions) {
        const keys = el("div", { className: lines.length === 1 && !options.remove ? "keys one" : "keys" });
        lines.forEach((line, i) => {
            const value = el("output"), swatch = el("i"), key = el("span", {}, swatch, line.label, value);
            swatch.style.background = `var(${line.color})`;
            if (options.remove) key.append(iconButton("close", `take ${line.label} out`, () => options.remove?.(i)));
            this.values.push(value);
            keys.append(key);
        });
        this.box.setAttribute("role", "img");
        this.box.setAttribute("aria-label", [`${options.title} over time`, ...lines.map((line) => line.label)].join(" "));
        this.element = el("section", { className: "plot" }, el("h3", {}, options.title, el("small", {}, options.unit)), keys, this.box);
        this.chart = new uPlot(this.chartOptions(), [[], ...lines.map(() => [])] as unknown as uPlot.AlignedData, this.box);
        this.chart.over.append(this.cursor);
        this.listen();
    }

    private chartOptions(): uPlot.Options {
        const { options } = this, log = options.log ?? false, font = "11px system-ui, sans-serif";
        const axis = { stroke: () => css("--dim"), font, ticks: { show: false }, grid: { stroke: () => css("--line"), width: 1 } };
        const powers = (_: uPlot, splits: number[]): (string | null)[] => splits.map((value) => {
            const power = Math.log10(value);
            return Math.abs(power - Math.round(power)) < 1e-6 ? `1e${Math.round(power)}` : null;
        });
        return {
            width: 300, height: HEIGHT, legend: { show: false }, cursor: { show: false }, padding: [6, 8, 0, 0],
            scales: { x: { time: false }, y: { distr: log ? 3 : 1, range: (_, low, high) => span(log, low, high) } },
            axes: [
                { ...axis, size: 22, gap: 3, space: 60, values: (_, splits, __, ___, incr) => splits.map((value) => steady(value, incr)) },
                { ...axis, size: 52, gap: 4, space: 28, values: log ? powers : (_, splits, __, ___, incr) => splits.map((value) => steady(value, incr)), ...(log ? { splits: decades, filter: (_: uPlot, all: number[]) => all } : {}) },
            ],
            series: [{}, ...this.lines.map((line) => ({ stroke: () => css(line.color), width: 1.4, points: { show: false }, spanGaps: false }))],
        };
    }

    private listen(): void {
        const { over } = this.chart, go = (event: PointerEvent): void => {
            const time = this.chart.posToVal(event.clientX - over.getBoundingClientRect().left, "x");
            if (Number.isFinite(time)) this.options.seek(time);
        };
        over.onpointerdown = (event) => {
            over.setPointerCapture(event.pointerId);
            go(event);
        };
        over.onpointermove = (event) => { if (event.buttons) go(event); };
    }

    /** The times from..to of the history. */
    draw(history: History, from: number, to: number): void {
        const width = this.box.clientWidth;
        if (!width) return; // not to be seen
        if (width !== this.chart.width) this.chart.setSize({ width, height: HEIGHT });
        const first = history.find(from).index, last = Math.min(history.count, history.find(to).index + 2);
        const log = this.options.log, drawn = (y: number | null): number | null => log && y !== null && !(y > 0) ? null : y; // zero has no power of ten
        const data = decimate(first, last, (i) => history.at(i).time, this.lines.map((line) => (i: number) => drawn(line.value(history.at(i)))), width);
        this.chart.batch(() => {
            this.chart.setData(data as uPlot.AlignedData, false);
            this.chart.setScale("x", { min: from, max: to > from ? to : from + 1 });
        });
    }

    show(frame: Frame, now: number): void {
        this.lines.forEach((line, i) => {
            const value = line.value(frame);
            setText(this.values[i], value === null ? "" : short(value, 3));
        });
        const { min, max } = this.chart.scales.x, seen = min !== undefined && max !== undefined && now >= min && now <= max;
        this.cursor.style.display = seen ? "" : "none";
        if (seen) this.cursor.style.transform = `translateX(${this.chart.valToPos(now, "x")}px)`;
    }

    recolor(): void { this.chart.redraw(false); }

    dispose(): void {
        this.chart.destroy();
        this.element.remove();
    }
}

/** A number on an axis, with as many digits as its steps need. */
function steady(value: number, step: number): string {
    const size = Math.abs(value);
    if (size >= 1e5 || (value !== 0 && size < 1e-3)) return value.toExponential(1).replace("e+", "e");
    let digits = 0;
    while (digits < 6 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) ++digits;
    return value.toFixed(digits);
}

/** At most five powers of ten between the ends. */
function decades(_: uPlot, __: number, low: number, high: number): number[] {
    const first = Math.round(Math.log10(low)), last = Math.round(Math.log10(high)), stride = Math.max(1, Math.ceil((last - first) / 4));
    return Array.from({ length: Math.floor((last - first) / stride) + 1 }, (_, i) => 10 ** (first + i * stride));
}
