// transport: the bar below: play, steps, the scrubber, the clock, speed; and for a simulation whether it keeps up.
import { el, icon, iconButton, setText } from "./dom";
import { clock } from "./format";
import { paceOf } from "./pace";
import type { Frame } from "./protocol";
import { SPEEDS, type Timeline } from "./timeline";

export class Transport {
    private readonly play = iconButton("play", "play (space)", () => this.timeline.toggle());
    private readonly scrub = el("input", { type: "range", min: "0", max: "1", step: "any", value: "0", className: "scrub" });
    private readonly clock = el("output", { className: "clock" });
    private readonly steps = el("small", { className: "steps" });
    private readonly speed = el("select", { title: "speed ([ and ])" });
    private readonly now = el("button", { type: "button", className: "now", title: "back to the newest moment (end)" });
    private readonly pace = el("span", { className: "pace" });
    private readonly rate = el("span");
    private readonly ofWhat = el("span", { className: "wide" }, " real time");
    private frame: Frame | null = null;
    private pictured = "";

    constructor(host: HTMLElement, private readonly timeline: Timeline, changed: () => void) {
        const { scrub, speed, play, now } = this, loop = iconButton("loop", "play in a loop", () => {
            timeline.loop = !timeline.loop;
            loop.setAttribute("aria-pressed", String(timeline.loop));
        });
        loop.setAttribute("aria-pressed", String(timeline.loop));
        scrub.setAttribute("aria-label", "Time");
        scrub.oninput = () => {
            const { start, end } = timeline.history;
            timeline.seek(start + Number(scrub.value) * (end - start));
            changed();
        };
        speed.setAttribute("aria-label", "Speed");
        for (const value of SPEEDS) speed.append(el("option", { value: String(value) }, `${value}\u00d7`));
        speed.onchange = () => timeline.setSpeed(Number(speed.value));
        now.onclick = () => { timeline.toNow(); changed(); };
        play.classList.add("play");
        this.pace.append(this.rate, this.ofWhat);
        const buttons = el("div", { className: "buttons" },
            iconButton("reset", timeline.steerable ? "reset: back to the start (r)" : "to the start (r)", () => { timeline.reset(); changed(); }),
            iconButton("back", "step back (left)", () => { timeline.step(-1); changed(); }), play,
            iconButton("forward", "step forward (right)", () => { timeline.step(1); changed(); }));
        host.append(buttons, scrub, el("div", { className: "times" }, this.clock, this.steps),
            ...(timeline.steerable ? [this.pace, now] : []), speed, ...(timeline.steerable ? [] : [loop]));
    }

    update(frame: Frame | null): void {
        const { timeline, scrub } = this, { history } = timeline, picture = timeline.playing ? "pause" : "play";
        if (picture !== this.pictured) {
            this.pictured = picture;
            this.play.replaceChildren(icon(picture));
            this.play.title = `${picture} (space)`;
            this.play.setAttribute("aria-label", picture);
        }
        const length = history.end - history.start;
        scrub.value = String(length > 0 ? (timeline.now - history.start) / length : timeline.steerable ? 1 : 0);
        scrub.setAttribute("aria-valuetext", `${clock(timeline.now)} s`);
        setText(this.clock, timeline.steerable ? `${clock(timeline.now)} s` : `${clock(timeline.now)} / ${clock(history.end)} s`);
        setText(this.steps, frame ? `step ${frame.step.toLocaleString("en")}` : "");
        this.showSpeed();
        this.frame = frame;
        if (!timeline.steerable) return;
        this.now.classList.toggle("on", timeline.following);
        this.now.disabled = timeline.following;
        setText(this.now, timeline.following ? "live" : "back to now");
    }

    private showSpeed(): void {
        const { speed, timeline } = this, value = String(timeline.speed);
        if (speed.value === value || document.activeElement === speed) return;
        if (![...speed.options].some((option) => option.value === value)) speed.append(el("option", { value }, `${value}\u00d7`));
        speed.value = value;
    }

    /** Of a simulation: whether it keeps up, also while no frame comes. silence: wall time since the last one; h: the step [s]. */
    showPace(silence: number, h: number): void {
        const { timeline } = this, going = timeline.following && timeline.playing;
        const { slow, rate, more } = paceOf(going ? this.frame : null, timeline.speed, going ? silence : 0, h);
        setText(this.rate, rate || (timeline.following && !timeline.playing ? "paused" : ""));
        setText(this.ofWhat, more);
        this.ofWhat.hidden = !more;
        this.pace.classList.toggle("slow", slow);
        const title = slow ? "the simulation does not keep up with the speed asked for" : "";
        if (this.pace.title !== title) this.pace.title = title;
    }
}
