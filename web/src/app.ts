// app: the page at work: takes what a source says, shows a moment of it, and passes on what hands do.
import { byId, el, iconButton, setText } from "./dom";
import { EditPanel } from "./edit";
import { Facts } from "./facts";
import type { Asked } from "./fragment";
import { clock, many } from "./format";
import { History } from "./history";
import { fillHelp, listen, type Key } from "./keys";
import { isOverlay, OverlayPanel, OVERLAYS } from "./overlays";
import { Plots, QUANTITIES } from "./plots";
import { Part, type Frame, type Mechanism, type Message, type Settings, type Vec3 } from "./protocol";
import { Selected, type Picked } from "./selected";
import type { Listener, Source, Status } from "./source";
import { makeTabs } from "./tabs";
import { ThemeSwitch } from "./theme";
import { Throttle } from "./throttle";
import { Timeline } from "./timeline";
import { Toasts } from "./toasts";
import { Trails } from "./trails";
import { Transport } from "./transport";
import { View, type Overlay } from "./view/view";

const RING_BYTES = 64 << 20, RING_FRAMES = 36000, SAMPLES = 40;
const OFTEN = 100, CAMERA_OFTEN = 200, HAND_OFTEN = 16; // [ms]

export class App implements Listener {
    mechanism: Mechanism | null = null;
    readonly history: History;
    readonly timeline: Timeline;
    readonly toasts = new Toasts(byId("toasts"));
    /** Others that want to hear what comes, such as the playground. */
    readonly listeners: ((message: Message) => void)[] = [];
    private readonly view: View;
    private readonly overlays: OverlayPanel;
    private readonly facts = new Facts(byId("facts"));
    private readonly plots: Plots;
    private readonly selected: Selected;
    private readonly edit: EditPanel | null;
    private readonly transport: Transport;
    private readonly trails: Trails;
    private readonly theme: ThemeSwitch;
    private readonly banner = byId("banner");
    private settings: Settings | null = null;
    private picked: Picked = null;
    private followed: number | null = null;
    private parts = -1;
    private awaiting = false; // a mechanism is known, its first frame not yet
    private dirty = true;
    private grown = false;
    private stamp = 0;
    private heard = 0; // when a frame last came, or none was due [ms]
    private connected = false;
    private readonly throttles = new Map<string, Throttle<string>>();
    private eye = "";

    constructor(private readonly source: Source, private readonly asked: Asked, note = "") {
        const live = source.steerable, changed = (): void => this.touch();
        this.history = live ? new History(RING_BYTES, RING_FRAMES) : new History();
        this.timeline = new Timeline(this.history, live ? (command) => this.send(command) : null);
        this.theme = new ThemeSwitch(asked.theme, (theme) => {
            this.view.setTheme(theme);
            this.plots.recolor();
            this.touch();
        });
        this.view = new View(byId<HTMLCanvasElement>("view"), byId("labels"), {
            grab: (body, local, world) => {
                byId("hint").hidden = true; // they know
                this.send(`grab 0 ${body} ${words(local)}`);
                this.often("hand", `move 0 ${words(world)}`, HAND_OFTEN);
            },
            move: (world) => this.often("hand", `move 0 ${words(world)}`, HAND_OFTEN),
            release: () => this.often("hand", "release 0", HAND_OFTEN), // after the last move
            pick: (what) => this.pick(what),
        });
        this.view.setTheme(this.theme.theme);
        this.overlays = new OverlayPanel(byId("overlays"), (name, on) => this.setOverlay(name, on));
        this.plots = new Plots(byId("plots"), this.history, live, (time) => { this.timeline.seek(time); this.touch(); }, () => this.needParts());
        this.trails = new Trails(this.view, this.history);
        this.selected = new Selected(byId("selected"), this.selectedActs());
        this.edit = live ? new EditPanel(byId("edit"), (command) => this.send(command), (key, command) => this.often(key, command)) : null;
        this.transport = new Transport(byId("transport"), this.timeline, changed);
        setText(byId("note"), note);
        this.chrome();
        this.startOverlays();
    }

    start(): void {
        this.source.open(this);
        if (!this.source.steerable) {
            if (this.asked.time !== null) this.timeline.seek(this.asked.time);
            else this.timeline.now = this.history.start;
            const still = this.asked.time !== null || matchMedia("(prefers-reduced-motion: reduce)").matches;
            if (this.asked.play || !still) this.timeline.setPlaying(true);
        }
        const tick = (stamp: number): void => {
            this.tick(stamp);
            requestAnimationFrame(tick);
        };
        requestAnimationFrame(tick);
    }

    send(command: string): void { this.source.send(command); }

    /** At most ten a second of each key, and always the last one. */
    often(key: string, command: string, ms = OFTEN): void {
        let throttle = this.throttles.get(key);
        if (!throttle) this.throttles.set(key, throttle = new Throttle<string>(ms, (last) => this.send(last)));
        throttle.push(command);
    }

    // ---- What comes ---------------------------------------------------------------------------------

    message(message: Message): void {
        if (message.type === "mechanism") this.setMechanism(message);
        else if (message.type === "settings") this.setSettings(message);
        else if (message.type === "notice") {
            if (message.line === undefined || !this.listeners.length) this.toasts.show(message.level, message.text); // the editor shows the others
            if (this.settings && message.level === "error") this.setSettings(this.settings); // what was refused goes back
        } else if (message.type === "stopped") this.showStopped(`Stopped at ${clock(message.time)} s${message.joint && !message.text.includes(message.joint) ? `, joint '${message.joint}'` : ""}: ${message.text}`);
        for (const listener of this.listeners) listener(message);
        this.touch();
    }

    frame(frame: Frame): void {
        this.heard = performance.now();
        const last = this.history.last;
        this.history.push(frame);
        if (this.source.steerable) this.timeline.told(frame.playing);
        if (last && frame.time < last.time) this.timeline.toNow(false);
        if (!frame.stopped && !this.banner.hidden && this.source.steerable) this.showStopped("");
        this.grown = this.dirty = true;
    }

    status(status: Status): void {
        const host = byId("status");
        this.connected = status.state === "open";
        host.dataset.state = status.state;
        setText(host, status.text);
        if (status.state === "open" && this.source.steerable) {
            this.parts = -1; // whoever is there now knows nothing yet
            this.needParts();
        }
    }

    private setMechanism(mechanism: Mechanism): void {
        this.mechanism = mechanism;
        this.settings = mechanism.settings;
        this.history.clear();
        this.awaiting = true;
        this.showStopped("");
        this.pick(null);
        if (this.source.steerable) {
            this.timeline.following = true;
            this.timeline.told(mechanism.settings.playing, mechanism.settings.speed);
        }
        document.title = `${mechanism.scene || "mechanism"} \u2013 Tenon`;
        setText(byId("name"), mechanism.scene || "mechanism");
        const { counts } = mechanism, hidden = counts.bodies - mechanism.bodies.length;
        setText(byId("about"), `${many(counts.bodies, "body", "bodies")}, ${many(counts.joints, "joint")}${hidden > 0 ? `; the first ${mechanism.bodies.length} are shown` : ""}`);
        document.body.classList.remove("empty");
    }

    /** The first frame of a mechanism is there. */
    private begin(mechanism: Mechanism): void {
        const { history } = this, recorded = this.source.steerable ? null : history.at(0), samples = Math.min(SAMPLES, history.count);
        const some = Array.from({ length: samples }, (_, i) => history.at(Math.floor(i * history.count / samples)));
        this.awaiting = false;
        this.view.setMechanism(mechanism, history.at(0), recorded ? some : []);
        this.facts.clear();
        this.overlays.adapt(this.adaptive, recorded);
        this.plots.setMechanism(mechanism, recorded);
        this.trails.clear();
        for (const name of this.asked.trails) mechanism.joints.forEach((joint, j) => { if (joint?.name === name) this.trails.toggle(j); });
        if (this.asked.from) this.view.lookFrom(...this.asked.from);
        this.setSettings(mechanism.settings);
        this.needParts();
    }

    private setSettings(told: Settings): void {
        const adaptive = this.adaptive, settings = { ...told, joints: told.joints ?? this.settings?.joints ?? [] };
        this.settings = settings;
        if (!this.mechanism) return;
        this.facts.mechanism(this.mechanism, settings);
        this.edit?.show(settings, this.mechanism);
        if (this.source.steerable) this.timeline.told(settings.playing, settings.speed);
        if (this.adaptive !== adaptive) this.overlays.adapt(this.adaptive, this.source.steerable ? null : this.history.last);
        this.needParts();
    }

    private get adaptive(): boolean {
        return this.settings?.method === "adaptive";
    }

    // ---- What is shown ------------------------------------------------------------------------------

    /** Something may look different now. */
    touch(): void { this.dirty = true; }

    private tick(stamp: number): void {
        const seconds = Math.min(0.1, Math.max(0, stamp - this.stamp) / 1000), { history, mechanism } = this;
        this.stamp = stamp;
        if (this.awaiting && mechanism && history.count) this.begin(mechanism);
        if (this.awaiting || !mechanism || !history.count) return;
        if (this.timeline.advance(seconds) || this.dirty) this.show(mechanism);
        if (this.source.steerable) this.showPace(performance.now());
        this.tellCamera();
    }

    private showPace(now: number): void {
        if (!this.timeline.playing || !this.connected) this.heard = now;
        this.transport.showPace((now - this.heard) / 1000, this.settings?.h ?? 0);
    }

    private show(mechanism: Mechanism): void {
        const { history, timeline } = this, { index, mix } = history.find(timeline.now), frame = history.at(index);
        this.dirty = false;
        this.view.canGrab = this.source.steerable && timeline.following;
        this.view.show(frame, mix > 0 ? history.at(index + 1) : null, mix);
        this.facts.frame(frame, mechanism, this.adaptive);
        this.selected.frame(frame);
        this.transport.update(frame);
        this.plots.update(frame, timeline.now, this.grown);
        this.trails.update(mechanism, index);
        this.grown = false;
    }

    private showStopped(text: string): void {
        this.banner.hidden = !text;
        this.banner.replaceChildren(text, ...(text && this.source.steerable ? [el("button", { type: "button", onclick: () => this.timeline.reset() }, "Reset")] : []));
    }

    // ---- What hands do ------------------------------------------------------------------------------

    private startOverlays(): void {
        const wanted = this.asked.overlays?.filter(isOverlay);
        for (const { name, on } of OVERLAYS) {
            const show = wanted && name !== "joints" && name !== "shadows" && name !== "grid" ? wanted.includes(name) : on;
            this.view.setOverlay(name, show && !(name === "active" && this.asked.plain));
        }
        this.overlays.follow(this.view);
    }

    private setOverlay(name: Overlay, on: boolean): void {
        this.view.setOverlay(name, on);
        this.overlays.follow(this.view); // one may put out another
        this.needParts();
        this.touch();
    }

    /** Asks for the parts of frames that are looked at, and no others. */
    private needParts(): void {
        if (!this.source.steerable || !this.mechanism || this.awaiting) return;
        const ofJoint = this.picked?.kind === "joint" ? Part.errors | Part.forces | Part.coordinates : 0;
        const parts = this.overlays.parts() | this.plots.parts() | ofJoint;
        if (parts !== this.parts) this.send(`show ${this.parts = parts}`);
    }

    private pick(what: Picked): void {
        this.picked = what;
        this.view?.setSelected(what);
        this.selected.show(what, this.mechanism);
        if (this.mechanism) this.edit?.select(what?.kind === "joint" ? what.index : null, this.mechanism);
        this.needParts();
        this.touch();
    }

    private follow(body: number | null): void {
        this.followed = body === this.followed ? null : body;
        this.view.setFollow(this.followed);
        this.selected.press();
        this.touch();
    }

    private selectedActs(): ConstructorParameters<typeof Selected>[1] {
        return {
            close: () => this.pick(null),
            plot: (quantity, joint) => { this.plots.toggle(quantity, joint); this.touch(); },
            trail: (joint) => { this.trails.toggle(joint); this.touch(); },
            follow: (body) => this.follow(body),
            plotted: (quantity, joint) => this.plots.isWatched(quantity, joint),
            trailed: (joint) => this.trails.has(joint),
            followed: (body) => this.followed === body,
            offered: (quantity) => this.source.steerable || ((this.history.last?.parts ?? 0) & QUANTITIES[quantity].part) !== 0,
        };
    }

    private tellCamera(): void {
        if (!this.source.steerable || this.settings?.method !== "adaptive") return;
        const eye = words(this.view.camera().position);
        if (eye !== this.eye) this.often("camera", `camera ${this.eye = eye}`, CAMERA_OFTEN);
    }

    /** Header, tabs, keys, and the sizes of things. */
    private chrome(): void {
        const dialog = byId<HTMLDialogElement>("help"), help = (): void => dialog.showModal(), live = this.source.steerable;
        byId("tools").append(iconButton("fit", "fit the view (f)", () => { this.view.fit(); this.touch(); }),
            iconButton("theme", "dark or light (t)", () => this.theme.toggle()), iconButton("help", "help (?)", help));
        document.body.classList.toggle("bare", this.asked.bare);
        document.body.classList.toggle("steerable", live);
        byId("hint").hidden = !live;
        makeTabs(byId("tabs"), () => { this.plots.refresh(); this.touch(); });
        const keys = this.keys(help);
        fillHelp(dialog, keys, live);
        listen(keys, dialog);
        new ResizeObserver(() => {
            this.view.resize();
            this.plots.refresh();
            this.touch();
        }).observe(byId("stage"));
    }

    private keys(help: () => void): Key[] {
        const { timeline, view } = this, key = (keys: string, shown: string, text: string, act: (event: KeyboardEvent) => void): Key =>
            ({ keys: keys === " " ? [" "] : keys.split(" "), shown, help: text, act: (event) => { act(event); this.touch(); } });
        const followPicked = (): void => {
            const { picked, mechanism } = this, joint = picked?.kind === "joint" ? mechanism?.joints[picked.index] : null;
            this.follow(picked?.kind === "body" ? picked.index : joint ? Math.max(...joint.bodies) : this.followed);
        };
        return [
            key(" ", "space", "play, pause", () => timeline.toggle()),
            key("ArrowLeft ArrowRight", "\u2190 \u2192", "a step back, forward; with shift ten", (e) => timeline.step((e.key === "ArrowLeft" ? -1 : 1) * (e.shiftKey ? 10 : 1))),
            key("Home End", "home end", timeline.steerable ? "oldest moment, now" : "start, end", (e) => e.key === "Home" ? timeline.seek(this.history.start) : timeline.toNow()),
            key("[ ]", "[ ]", "slower, faster", (e) => timeline.faster(e.key === "[" ? -1 : 1)),
            key("r", "r", timeline.steerable ? "reset" : "to the start", () => timeline.reset()),
            key("1 2 3 4 5 6 7 8", "1 \u2026 8", `show ${OVERLAYS.map((overlay) => overlay.label).join(", ")}`, (e) => this.overlays.toggle(Number(e.key) - 1)),
            key("f", "f", "fit the view", () => view.fit()),
            key("c", "c", "the camera follows what is selected", followPicked),
            key("+ = -", "+ \u2212", "nearer, farther", (e) => view.zoom(e.key === "-" ? 1.15 : 1 / 1.15)),
            key("t", "t", "dark, light", () => this.theme.toggle()),
            key("?", "?", "this help", help),
        ];
    }
}

const words = (v: Vec3): string => v.map((x) => Number(x.toPrecision(7))).join(" ");
