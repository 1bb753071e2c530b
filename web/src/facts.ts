// facts: the numbers of the mechanism and of the moment that is shown.
import { el, setText } from "./dom";
import { duration, short } from "./format";
import { CONTACT, type Frame, type Mechanism, type Settings } from "./protocol";
import { errorColor } from "./view/colors";

const ROWS = ["bodies", "joints", "rows", "mobility", "loops", "method", "step h", "step time", "energy", "joint error", "contacts", "active"] as const;
type Row = typeof ROWS[number];

export class Facts {
    private readonly values = new Map<Row, HTMLElement>();
    private readonly dot = el("i", { className: "dot" });

    constructor(host: HTMLElement) {
        const list = el("dl", { className: "facts" });
        for (const row of ROWS) {
            const value = el("dd");
            this.values.set(row, value);
            list.append(el("div", {}, el("dt", {}, ...(row === "joint error" ? [row, this.dot] : [row])), value));
        }
        host.append(list);
    }

    private set(row: Row, text: string | null): void {
        const value = this.values.get(row);
        if (!value) return;
        if (value.parentElement) value.parentElement.hidden = text === null;
        setText(value, text ?? "");
    }

    mechanism(mechanism: Mechanism, settings: Settings): void {
        const { counts } = mechanism;
        this.set("bodies", counts.bodies.toLocaleString("en"));
        this.set("joints", counts.joints.toLocaleString("en"));
        this.set("rows", counts.rows.toLocaleString("en"));
        this.set("mobility", counts.dofs.toLocaleString("en"));
        this.set("loops", counts.loops.toLocaleString("en"));
        this.set("method", settings.method);
        this.set("step h", duration(settings.h));
    }

    /** Of another mechanism nothing is measured yet. */
    clear(): void { this.set("step time", null); }

    frame(frame: Frame, mechanism: Mechanism, adaptive: boolean): void {
        this.set("energy", `${short(frame.kinetic + frame.gravity + frame.elastic)} J`);
        this.set("joint error", mechanism.counts.joints ? short(frame.jointError) : null);
        this.dot.style.background = errorColor(frame.jointError);
        if (frame.stepSeconds > 0) this.set("step time", duration(frame.stepSeconds)); // a frame without a step does not know
        this.set("contacts", frame.contacts ? String(frame.contacts.length / CONTACT) : null);
        this.set("active", adaptive ? `${frame.activeCount} of ${mechanism.counts.moving}` : null);
    }
}
