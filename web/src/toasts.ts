// toasts: short words on what happened, which go away by themselves.
import { el } from "./dom";

const SHOWN_MAX = 4, STAY = { error: 10000, info: 5000 }; // [ms]

export class Toasts {
    constructor(private readonly host: HTMLElement) {}

    show(level: "error" | "info", text: string): void {
        for (const old of [...this.host.children]) if (old.textContent === text) old.remove(); // said again: only once
        while (this.host.children.length >= SHOWN_MAX) this.host.firstElementChild?.remove();
        const toast: HTMLButtonElement = el("button", { type: "button", className: `toast ${level}`, title: "close", onclick: () => toast.remove() }, text);
        this.host.append(toast);
        setTimeout(() => toast.remove(), STAY[level]);
    }
}
