// gallery: the built-in scenes by name, each with its parameters. A click opens one; so does another value.
import { el } from "./dom";
import type { Gallery } from "./protocol";

type Scene = Gallery["scenes"][number];
type Param = Scene["params"][number];

/** The default, as one would type it. A word's value may be its index. */
export function defaultOf(param: Param): string {
    return param.words && typeof param.value === "number" ? param.words[param.value] ?? param.words[0] : String(param.value);
}

/** "@chain:n=20": only what differs from the defaults. */
export function originOf(scene: Scene, values: Record<string, string>): string {
    const others = scene.params.filter((param) => values[param.name] !== undefined && values[param.name] !== defaultOf(param));
    return `@${scene.name}${others.length ? ":" : ""}${others.map((param) => `${param.name}=${values[param.name]}`).join(",")}`;
}

/** Name and values of "@chain:n=20,joint=ball". */
export function readOrigin(origin: string): { name: string; values: Record<string, string> } {
    const [name, rest = ""] = origin.replace(/^@/, "").split(/:(.*)/s), values: Record<string, string> = {};
    for (const pair of rest.split(",")) {
        const [key, value] = pair.split("=");
        if (value !== undefined) values[key] = value;
    }
    return { name, values };
}

export class GalleryPanel {
    private readonly search = el("input", { type: "search", placeholder: "search scenes" });
    private readonly list = el("div", { className: "list" });
    private readonly cards = new Map<string, { card: HTMLElement; fields: Map<string, HTMLInputElement | HTMLSelectElement>; scene: Scene }>();

    constructor(host: HTMLElement, private readonly open: (origin: string) => void) {
        this.search.setAttribute("aria-label", "Search scenes");
        this.search.oninput = () => {
            const word = this.search.value.toLowerCase();
            for (const { card, scene } of this.cards.values()) card.hidden = !`${scene.name} ${scene.help}`.toLowerCase().includes(word);
        };
        host.append(this.search, this.list);
    }

    fill(gallery: Gallery): void {
        this.cards.clear();
        this.list.replaceChildren(...gallery.scenes.map((scene) => this.card(scene)));
    }

    private card(scene: Scene): HTMLElement {
        const fields = new Map<string, HTMLInputElement | HTMLSelectElement>(), form = el("div", { className: "params" });
        const open = (): void => this.open(originOf(scene, Object.fromEntries([...fields].map(([name, field]) => [name, field.value.trim()]))));
        for (const param of scene.params) {
            const field = makeField(param);
            field.onchange = open;
            fields.set(param.name, field);
            form.append(el("label", { title: param.help }, el("span", {}, param.name), field));
        }
        const button = el("button", { type: "button", onclick: open }, el("b", {}, scene.name), el("span", {}, scene.help));
        const card = el("div", { className: "card" }, button, form);
        this.cards.set(scene.name, { card, fields, scene });
        return card;
    }

    /** Which scene is shown now, with its values. */
    show(origin: string): void {
        const { name, values } = readOrigin(origin);
        for (const [other, { card, fields, scene }] of this.cards) {
            const here = other === name && origin.startsWith("@");
            card.classList.toggle("here", here);
            if (!here) continue;
            for (const param of scene.params) {
                const field = fields.get(param.name);
                if (field && document.activeElement !== field) field.value = values[param.name] ?? defaultOf(param);
            }
            card.scrollIntoView({ block: "nearest" });
        }
    }
}

function makeField(param: Param): HTMLInputElement | HTMLSelectElement {
    if (param.words) return el("select", { value: "" }, ...param.words.map((word) => el("option", { value: word, selected: word === defaultOf(param) }, word)));
    const field = el("input", { type: "number", value: defaultOf(param), step: param.whole ? "1" : "any" });
    if (Number.isFinite(param.lower)) field.min = String(param.lower);
    if (Number.isFinite(param.upper)) field.max = String(param.upper);
    return field;
}
