// dom: elements in one line each.
type Child = Node | string;

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, props: Partial<HTMLElementTagNameMap[K]> & { data?: Record<string, string> } = {},
    ...children: Child[]): HTMLElementTagNameMap[K] {
    const { data, ...rest } = props, node = document.createElement(tag);
    Object.assign(node, rest);
    for (const [key, value] of Object.entries(data ?? {})) node.dataset[key] = value;
    node.append(...children);
    return node;
}

/** The element of index.html with that id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
    const node = document.getElementById(id);
    if (!node) throw new Error(`no element '${id}'`);
    return node as T;
}

/** Writes only what has changed: texts are set with every frame. */
export function setText(node: Element, text: string): void {
    if (node.textContent !== text) node.textContent = text;
}

const ICONS = {
    play: "M7 4v16l13-8z", pause: "M6 4h4v16H6zM14 4h4v16h-4z", forward: "M5 5v14l9-7zM16 5h3v14h-3z", back: "M19 5v14l-9-7zM5 5h3v14H5z",
    reset: "M12 5V1L6 6l6 5V7a5 5 0 1 1-5 5H5a7 7 0 1 0 7-7z", loop: "M7 7h10v3l4-4-4-4v3H5v7h2zM17 17H7v-3l-4 4 4 4v-3h12v-7h-2z",
    theme: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18v-2a7 7 0 0 0 0-14z", close: "M6 4.6 4.6 6l6 6-6 6L6 19.400l6-6 6 6 1.400-1.400-6-6 6-6L18 4.600l-6 6z",
    help: "M11 17h2v2h-2zM12 5a4 4 0 0 0-4 4h2a2 2 0 1 1 3.200 1.600C12 11.500 11 12.300 11 15h2c0-1.800.8-2.200 1.700-3A4 4 0 0 0 12 5z",
    fit: "M4 9V4h5v2H6v3zM15 4h5v5h-2V6h-3zM4 15h2v3h3v2H4zM18 15h2v5h-5v-2h3z", menu: "M4 6h16v2H4zM4 11h16v2H4zM4 16h16v2H4z",
};

export function icon(name: keyof typeof ICONS): SVGSVGElement {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), path = document.createElementNS(svg.namespaceURI, "path");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    path.setAttribute("d", ICONS[name]);
    svg.append(path);
    return svg as SVGSVGElement;
}

/** A button with a picture, and words for those who do not see it. */
export function iconButton(name: keyof typeof ICONS, label: string, act: () => void): HTMLButtonElement {
    const button = el("button", { type: "button", className: "icon", title: label }, icon(name));
    button.onclick = (event) => {
        if (event.detail) button.blur(); // a pointer's click leaves the keys to the page
        act();
    };
    button.setAttribute("aria-label", label);
    return button;
}
