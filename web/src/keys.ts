// keys: what can be done from the keyboard; the help dialog lists the same table.
import { el } from "./dom";

export interface Key {
    /** As KeyboardEvent.key has it. */
    keys: string[];
    shown: string;
    help: string;
    act(event: KeyboardEvent): void;
}

/** Where keys belong to what has the focus. */
function typing(target: EventTarget | null, key: string): boolean {
    if (target instanceof HTMLInputElement) {
        if (target.type === "checkbox") return key === " ";
        if (target.classList.contains("scrub")) return false; // steps are frames there, too
        return target.type !== "range" || key.startsWith("Arrow") || key === "Home" || key === "End";
    }
    if (target instanceof HTMLButtonElement || (target instanceof HTMLElement && target.tagName === "SUMMARY")) return key === " " || key === "Enter";
    return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

export function listen(keys: Key[], dialog: HTMLDialogElement): void {
    document.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || dialog.open || typing(event.target, event.key)) return;
        const key = keys.find((one) => one.keys.includes(event.key));
        if (!key) return;
        event.preventDefault();
        key.act(event);
    });
}

export function fillHelp(dialog: HTMLDialogElement, keys: Key[], steerable: boolean): void {
    const list = el("dl"), line = (what: string, help: string): HTMLElement => el("div", {}, el("dt", {}, el("kbd", {}, what)), el("dd", {}, help));
    for (const { shown, help } of keys) list.append(line(shown, help));
    list.append(line("esc", "close this"));
    const mouse = el("dl", {}, line("drag", "turn"), line("right drag", "move"), line("wheel", "zoom"), line("click", "select a body or a joint"),
        ...(steerable ? [line("drag a body", "pull it")] : []));
    const close = el("button", { type: "button", onclick: () => dialog.close() }, "Close");
    dialog.replaceChildren(el("h2", { id: "help-title" }, "Keys and pointer"), el("div", { className: "columns" }, list, mouse), close);
    dialog.setAttribute("aria-labelledby", "help-title");
    dialog.onclick = (event) => { if (event.target === dialog) dialog.close(); };
}
