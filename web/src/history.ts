// history: the frames there are, by time. All of a recording; the last ones of a simulation that goes on, within a bound.
import type { Frame } from "./protocol";

const OVERHEAD = 1024; // what a frame costs beside its bytes

export class History {
    private frames: Frame[] = [];
    private head = 0; // those before it are dropped
    private bytes = 0;

    constructor(private readonly maxBytes = Infinity, private readonly maxFrames = Infinity) {}

    get count(): number { return this.frames.length - this.head; }
    get start(): number { return this.count ? this.at(0).time : 0; }
    get end(): number { return this.count ? this.at(this.count - 1).time : 0; }
    get last(): Frame | null { return this.count ? this.at(this.count - 1) : null; }
    at(index: number): Frame { return this.frames[this.head + index]; }

    clear(): void {
        this.frames = [];
        this.head = this.bytes = 0;
    }

    /** Time that runs backwards begins anew; the same time again replaces what was there. */
    push(frame: Frame): void {
        if (!Number.isFinite(frame.time)) return;
        const last = this.last;
        if (last && (frame.time < last.time || frame.poses.length !== last.poses.length)) this.clear();
        else if (last && frame.time === last.time) this.bytes -= cost(this.frames.pop() as Frame);
        this.frames.push(frame);
        this.bytes += cost(frame);
        while (this.count > 1 && (this.bytes > this.maxBytes || this.count > this.maxFrames)) this.drop();
    }

    private drop(): void {
        this.bytes -= cost(this.frames[this.head++]);
        if (2 * this.head < this.frames.length) return;
        this.frames = this.frames.slice(this.head);
        this.head = 0;
    }

    /** The frame at or before a time, and how far the time is on the way to the next one, 0 to 1. */
    find(time: number): { index: number; mix: number } {
        if (!this.count || time <= this.start) return { index: 0, mix: 0 };
        if (time >= this.end) return { index: this.count - 1, mix: 0 };
        let low = 0, high = this.count - 1;
        while (high - low > 1) {
            const mid = (low + high) >> 1;
            if (this.at(mid).time <= time) low = mid; else high = mid;
        }
        const from = this.at(low).time;
        return { index: low, mix: (time - from) / (this.at(high).time - from) };
    }
}

const cost = (frame: Frame): number => frame.bytes + OVERHEAD;
