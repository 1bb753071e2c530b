// selected: the joint or body somebody clicked: what it is, its numbers now, and what can be done with it.
import { el, iconButton, setText } from "./dom";
import { many, short } from "./format";
import { FORCE, POSE, type Frame, type Mechanism } from "./protocol";
import type { Quantity } from "./plots";
import type { ViewHooks } from "./view/view";

export type Picked = Parameters<ViewHooks["pick"]>[0];

export interface SelectedActs {
    close(): void;
    plot(quantity: Quantity, joint: number): void;
    trail(joint: number): void;
    follow(body: number): void;
    plotted(quantity: Quantity, joint: number): boolean;
    trailed(joint: number): boolean;
    followed(body: number): boolean;
    /** Whether these can be had at all. */
    offered(quantity: Quantity): boolean;
}

export class Selected {
    private picked: Picked = null;
    private mechanism: Mechanism | null = null;
    private readonly now = el("p", { className: "numbers" });
    private buttons: { button: HTMLButtonElement; pressed: () => boolean }[] = [];

    constructor(private readonly host: HTMLElement, private readonly acts: SelectedActs) {}

    show(picked: Picked, mechanism: Mechanism | null): void {
        this.picked = picked;
        this.mechanism = mechanism;
        this.buttons = [];
        this.host.hidden = !picked || !mechanism;
        if (!picked || !mechanism) return;
        const name = this.name(), close = iconButton("close", "unselect", () => this.acts.close());
        this.host.replaceChildren(el("h2", {}, el("span", {}, name.title, el("small", {}, name.kind)), close), this.now, this.makeButtons(picked, mechanism));
        this.press();
    }

    private name(): { title: string; kind: string } {
        const { mechanism, picked } = this, nameOf = (body: number): string => body < 0 ? "ground" : mechanism?.bodies[body]?.name ?? "?";
        if (picked?.kind === "body") {
            const body = mechanism?.bodies[picked.index];
            return { title: body?.name ?? "body", kind: `${body?.kind ?? ""} body, ${short(body?.mass ?? 0)} kg` };
        }
        const joint = mechanism?.joints[picked?.index ?? -1];
        return joint ? { title: joint.name, kind: `${joint.type}, ${nameOf(joint.bodies[0])} \u2013 ${nameOf(joint.bodies[1])}` } : { title: "joint", kind: "" };
    }

    private makeButtons(picked: NonNullable<Picked>, mechanism: Mechanism): HTMLElement {
        const row = el("div", { className: "buttons" }), { acts } = this;
        const add = (text: string, act: () => void, pressed: () => boolean): void => {
            const button = el("button", { type: "button", onclick: () => { act(); this.press(); } }, text);
            this.buttons.push({ button, pressed });
            row.append(button);
        };
        if (picked.kind === "body") add("follow", () => acts.follow(picked.index), () => acts.followed(picked.index));
        else {
            const joint = picked.index, coordinates = mechanism.joints[joint]?.coordinates ?? 0;
            const plot = (quantity: Quantity): void => { if (acts.offered(quantity)) add(quantity, () => acts.plot(quantity, joint), () => acts.plotted(quantity, joint)); };
            if (coordinates) plot("coordinate");
            plot("force");
            plot("torque");
            if (row.children.length) row.prepend("plot");
            add("trail", () => acts.trail(joint), () => acts.trailed(joint));
        }
        return row;
    }

    press(): void {
        for (const { button, pressed } of this.buttons) button.setAttribute("aria-pressed", String(pressed()));
    }

    frame(frame: Frame): void {
        const { picked, mechanism } = this;
        if (!picked || !mechanism) return;
        setText(this.now, picked.kind === "body" ? bodyNumbers(frame, picked.index) : jointNumbers(frame, mechanism, picked.index));
    }
}

function bodyNumbers(frame: Frame, body: number): string {
    const at = frame.poses.subarray(POSE * body, POSE * body + 3);
    return `at ${[...at].map((x) => x.toFixed(3)).join(", ")} m`;
}

function jointNumbers(frame: Frame, mechanism: Mechanism, joint: number): string {
    const j = mechanism.joints[joint], parts: string[] = [];
    if (!j) return "";
    const size = (at: number): string => frame.forces ? short(Math.hypot(frame.forces[at], frame.forces[at + 1], frame.forces[at + 2])) : "";
    if (frame.coordinates && j.coordinates) {
        parts.push(`${j.coordinates === 1 ? "coordinate" : many(j.coordinates, "coordinate").replace(/^\d+ /, "")} ` +
            [...frame.coordinates.subarray(j.start, j.start + j.coordinates)].map((x) => x.toFixed(4)).join(", "));
    }
    if (frame.forces) parts.push(`force ${size(FORCE * joint)} N, torque ${size(FORCE * joint + 3)} N m`);
    if (frame.errors) parts.push(`error ${short(frame.errors[joint])}`);
    return parts.join("\n");
}
