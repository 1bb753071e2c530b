// timeline: which moment is shown. Of a recording it is a clock over the frames. Of a simulation that goes on it is now, until
// somebody looks back: that pauses the simulation, and `toNow` goes back to it.
import type { History } from "./history";

export const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20];

export class Timeline {
    now = 0;
    loop = true;
    /** Whether the moment shown is always the newest one. */
    following: boolean;
    /** Of what is shown here: a recording, or the past of a simulation. */
    private replaying = false;
    private rate = 1;
    /** What the simulation last said of itself. */
    private simulating = false;
    private resume = false;

    /** send: to the simulation; null: a recording. */
    constructor(readonly history: History, private readonly send: ((command: string) => void) | null) {
        this.following = send !== null;
    }

    get playing(): boolean { return this.following ? this.simulating : this.replaying; }
    get speed(): number { return this.rate; }
    get steerable(): boolean { return this.send !== null; }

    /** The simulation's own word on how it goes. */
    told(simulating: boolean, speed?: number): void {
        this.simulating = simulating;
        if (speed !== undefined) this.rate = speed;
    }

    setSpeed(speed: number): void {
        this.rate = speed;
        this.send?.(`speed ${speed}`);
    }

    faster(by: number): void {
        const at = SPEEDS.findIndex((speed) => speed >= this.rate * 0.999);
        this.setSpeed(SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, (at < 0 ? SPEEDS.length : at) + by))]);
    }

    setPlaying(on: boolean): void {
        if (this.following) {
            this.simulating = on;
            this.send?.(on ? "play" : "pause");
            return;
        }
        this.replaying = on && this.history.end > this.history.start;
        if (this.replaying && this.now >= this.history.end) {
            if (this.send) this.toNow(true);
            else this.now = this.history.start;
        }
    }

    toggle(): void { this.setPlaying(!this.playing); }

    /** Shows a moment and stays there. */
    seek(time: number): void {
        if (this.send && time >= this.history.end) return this.toNow(false);
        this.lookBack();
        this.replaying = false;
        this.now = Math.min(this.history.end, Math.max(this.history.start, time));
    }

    /** Frames forward or back; beyond the newest one, steps of the simulation. */
    step(count: number): void {
        const { history } = this, { index, mix } = history.find(this.following ? history.end : this.now);
        if (this.following && count > 0) {
            this.simulating = false;
            this.send?.(`step ${count}`);
            return;
        }
        const to = index + count + (count < 0 && mix > 0 ? 1 : 0);
        this.replaying = false;
        if (history.count) this.seek(history.at(Math.min(history.count - 1, Math.max(0, to))).time);
        if (this.send && to >= history.count - 1) this.resume = false;
    }

    reset(): void {
        if (this.send) {
            this.following = true;
            this.send("reset");
        } else this.seek(this.history.start);
    }

    /** To the newest moment; a simulation that ran before goes on. */
    toNow(go = this.resume): void {
        if (!this.send) return this.seek(this.history.end);
        this.following = true;
        this.replaying = this.resume = false;
        if (go) this.setPlaying(true);
    }

    private lookBack(): void {
        if (!this.following) return;
        this.following = false;
        this.resume = this.simulating;
        if (this.simulating) this.send?.("pause");
        this.simulating = false;
    }

    /** Some seconds of wall time went by. True: another moment is shown. */
    advance(seconds: number): boolean {
        const before = this.now, { start, end } = this.history;
        if (this.following) this.now = end;
        else if (this.replaying) {
            this.now += seconds * this.rate;
            if (this.now >= end) {
                if (this.send) this.toNow();
                else if (this.loop) this.now = start;
                else this.replaying = false;
            }
        }
        this.now = Math.min(end, Math.max(start, this.now));
        return this.now !== before;
    }
}
