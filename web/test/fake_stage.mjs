// fake_stage: answers commands as docs/protocol.md says, with the made-up motion of sample.mjs. It keeps every command it got.
import { makeFrame, makeMechanism, makeSettings } from "./sample.mjs";

export class FakeStage {
    commands = [];
    parts = 0;
    time = 0;
    step = 0;

    constructor(send, { bodies = 3, method = "implicit", realTime = 1, stepSeconds = 2e-4 } = {}) {
        this.send = send;
        this.bodies = bodies;
        this.realTime = realTime;
        this.stepSeconds = stepSeconds;
        this.settings = makeSettings({ joints: bodies, method });
        this.begin();
        this.timer = setInterval(() => { if (this.settings.playing) this.advance(1); }, 16);
    }

    begin() {
        this.send(JSON.stringify({ type: "hello", tenon: "0.1.0" }));
        this.send(JSON.stringify({ ...makeMechanism(this.bodies), settings: this.settings }));
        this.frame();
    }

    close() { clearInterval(this.timer); }
    tell() { this.send(JSON.stringify(this.settings)); }
    notice(text, more = {}) { this.send(JSON.stringify({ type: "notice", level: "error", text, ...more })); }

    frame() {
        this.send(makeFrame({ time: this.time, step: this.step, bodies: this.bodies, parts: this.parts, contacts: 2, playing: this.settings.playing, realTime: this.realTime, stepSeconds: this.stepSeconds, active: 2 }));
    }

    advance(steps) {
        this.step += steps;
        this.time = this.step * this.settings.h;
        this.frame();
    }

    command(line) {
        this.commands.push(line);
        const [word, ...rest] = line.split(" "), number = Number(rest[rest.length - 1]), { settings } = this;
        if (word === "play" || word === "pause") settings.playing = word === "play";
        else if (word === "step") { settings.playing = false; this.advance(rest.length ? number : 1); }
        else if (word === "reset") { this.step = this.time = 0; }
        else if (word === "speed") settings.speed = number;
        else if (word === "show") { this.parts = number; return this.frame(); }
        else if (word === "gravity") settings.gravity = rest.map(Number);
        else if (word === "set") { if (!this.set(rest[0], rest[1])) return; }
        else if (word === "joint") {
            const joint = settings.joints[Number(rest[0])];
            if (rest[1] === "rest") joint.rest[Number(rest[3] ?? 0)] = Number(rest[2]); else joint[rest[1]] = Number(rest[2]);
        } else return;
        this.tell();
        this.frame();
    }

    set(key, value) {
        if (key === "h" && !(Number(value) <= 0.05)) { this.notice(`h = ${value}: a step of at most 0.05 s is allowed here`); return false; }
        if (key === "method" && value === "impulse") { this.notice("the impulse method does not know this joint"); return false; }
        if (key === "method" || key === "h") this.settings[key] = key === "h" ? Number(value) : value;
        else if (key in this.settings.values) this.settings.values[key] = value;
        else { this.notice(`no setting '${key}'`); return false; }
        return true;
    }
}
