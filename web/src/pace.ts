// pace: whether a simulation keeps up with the speed asked for, in words.
import { duration } from "./format";
import type { Frame } from "./protocol";

const SLOW = 0.95; // below this share of the speed asked for, it does not keep up
const SILENT = 0.5; // after so long without the frame that is due, a step takes long [s]

export interface Pace {
    slow: boolean;
    /** "slow: 0.20\u00d7"; empty: nothing is known. */
    rate: string;
    /** What the rate is of, and why it is low. */
    more: string;
}

/** silence: wall time since the last frame; h: the step [s]. */
export function paceOf(frame: Pick<Frame, "realTime" | "stepSeconds"> | null, speed: number, silence: number, h: number): Pace {
    if (silence > SILENT + 2 * h / speed) return { slow: true, rate: "slow:", more: ` a step takes more than ${Math.floor(silence * 2) / 2} s` };
    const real = frame?.realTime ?? 0, slow = real > 0 && real < SLOW * speed;
    if (!(real > 0)) return { slow: false, rate: "", more: "" };
    const step = slow && frame && frame.stepSeconds > 0 ? `; a step takes ${duration(Number(frame.stepSeconds.toPrecision(2)))}` : "";
    return { slow, rate: `${slow ? "slow: " : ""}${real.toFixed(2)}\u00d7`, more: ` real time${step}` };
}
