// source: where a mechanism comes from. A recording, a live simulation and one within the page are the same to all others.
import type { Frame, Message } from "./protocol";

export interface Status {
    state: "opening" | "open" | "lost";
    text: string;
}

export interface Listener {
    message(message: Message): void;
    frame(frame: Frame): void;
    status(status: Status): void;
}

export interface Source {
    /** Whether commands do something. */
    readonly steerable: boolean;
    open(listener: Listener): void;
    send(command: string): void;
    close(): void;
}

const KINDS = ["mechanism", "settings", "notice", "stopped", "hello", "gallery", "source"];

/** A message from its text; null where it is none of ours. */
export function parseMessage(text: string): Message | null {
    try {
        const message: unknown = JSON.parse(text);
        const ours = typeof message === "object" && message !== null && "type" in message && KINDS.includes(String(message.type));
        return ours ? message as Message : null;
    } catch {
        return null;
    }
}
