// editor: the text of a scene with line numbers; a mistake is marked where it is.
import { el, setText } from "./dom";

export class Editor {
    readonly text = el("textarea", { spellcheck: false, autocapitalize: "off", wrap: "off", placeholder: "the text of a scene" });
    private readonly gutter = el("div", { className: "gutter" });
    private readonly problem = el("p", { className: "problem" });
    private lines = 0;
    private wrong = 0; // the line with a mistake, from 1

    constructor(host: HTMLElement, run: (text: string) => void, share: () => void) {
        const { text } = this, go = (): void => run(text.value);
        text.setAttribute("aria-label", "The text of the scene");
        this.gutter.setAttribute("aria-hidden", "true");
        this.problem.setAttribute("role", "alert");
        text.oninput = () => this.number();
        text.onscroll = () => { this.gutter.scrollTop = text.scrollTop; };
        text.onkeydown = (event) => {
            if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            go();
        };
        host.append(el("div", { className: "sheet" }, this.gutter, text), this.problem, el("div", { className: "buttons" },
            el("button", { type: "button", className: "primary", title: "ctrl enter", onclick: go }, "Run"),
            el("button", { type: "button", onclick: share }, "Copy link")));
        this.number();
    }

    set(text: string): void {
        this.text.value = text;
        this.text.scrollTop = 0;
        this.clear();
    }

    clear(): void {
        this.wrong = 0;
        setText(this.problem, "");
        this.number();
    }

    /** Something is wrong; where, if that is known: from 1. */
    fail(words: string, line?: number, column = 1): void {
        this.wrong = line ?? 0;
        setText(this.problem, line === undefined ? words : `line ${line}, column ${column}: ${words}`);
        this.number();
        if (line === undefined) return;
        const at = caretAt(this.text.value, line, column), height = this.text.scrollHeight / Math.max(1, this.lines);
        this.text.focus();
        this.text.setSelectionRange(at, at);
        this.text.scrollTop = Math.max(0, (line - 4) * height);
    }

    private number(): void {
        this.lines = this.text.value.split("\n").length;
        const upTo = (from: number, to: number): string => Array.from({ length: Math.max(0, to - from) }, (_, i) => `${from + i}\n`).join("");
        const { wrong, lines } = this, marked = wrong ? [el("mark", {}, String(wrong)), upTo(wrong + 1, lines + 1)] : [];
        this.gutter.replaceChildren(upTo(1, wrong || lines + 1), ...marked);
        this.gutter.scrollTop = this.text.scrollTop;
    }
}

/** Where line and column, from 1, are in a text. */
export function caretAt(text: string, line: number, column: number): number {
    let at = 0;
    for (let i = 1; i < line; ++i) {
        const end = text.indexOf("\n", at);
        if (end < 0) break;
        at = end + 1;
    }
    const end = text.indexOf("\n", at);
    return Math.min(at + Math.max(0, column - 1), end < 0 ? text.length : end);
}
