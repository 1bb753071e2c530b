// tape: a recording that lies in the page. Everything comes at once, and nothing can be changed.
import { decodeFrame, type Frame, type Mechanism, type Stopped } from "./protocol";
import type { Listener, Source } from "./source";

export interface TapeData {
    mechanism: Mechanism;
    /** Base 64 of frames, one after the other. */
    frames: string;
    stopped?: Stopped;
    note?: string;
}

export function bytesOfBase64(base64: string): ArrayBuffer {
    const text = atob(base64), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
    return bytes.buffer;
}

/** All frames up to the end, or to the first broken one. */
export function decodeFrames(buffer: ArrayBuffer): Frame[] {
    const frames: Frame[] = [];
    for (let at = 0; ;) {
        const frame = decodeFrame(buffer, at);
        if (!frame) return frames;
        frames.push(frame);
        at += Math.ceil(frame.bytes / 8) * 8;
    }
}

export class Tape implements Source {
    readonly steerable = false;
    constructor(private readonly data: TapeData) {}

    open(listener: Listener): void {
        const buffer = bytesOfBase64(this.data.frames), frames = decodeFrames(buffer);
        const read = frames.reduce((sum, frame) => sum + frame.bytes, 0);
        listener.message(this.data.mechanism);
        for (const frame of frames) listener.frame(frame);
        if (this.data.stopped) listener.message(this.data.stopped);
        if (read < buffer.byteLength) {
            listener.message({ type: "notice", level: "error", text: `This recording is damaged after frame ${frames.length}: what follows is left out.` });
        }
        listener.status({ state: "open", text: "" });
    }

    send(): void {}
    close(): void {}
}
