// playground: the page with the simulation in it: built-in scenes to open, a text to edit and run, and links to share either.
import { App } from "./app";
import { byId, el } from "./dom";
import { Editor } from "./editor";
import { packScene, readFragment, unpackScene, type Asked } from "./fragment";
import { GalleryPanel } from "./gallery";
import type { Message } from "./protocol";
import type { Source } from "./source";

const FIRST = "@robot";

class Playground {
    private readonly app: App;
    private readonly gallery: GalleryPanel;
    private readonly editor: Editor;
    private readonly panes: { name: string; pane: HTMLElement; tab: HTMLButtonElement }[] = [];
    /** What was last asked for: a built-in one, or else the editor's text. */
    private origin = "";
    /** The editor's text was sent, and nothing came back yet. */
    private running = false;

    constructor(source: Source) {
        const host = byId("scenes"), tabs = el("div", { className: "tabs" });
        host.hidden = false;
        tabs.setAttribute("role", "tablist");
        host.append(tabs);
        this.app = new App(source, readFragment(location.hash));
        this.gallery = new GalleryPanel(this.pane(host, tabs, "Gallery"), (origin) => this.openBuiltin(origin));
        this.editor = new Editor(this.pane(host, tabs, "Editor"), (text) => this.run(text), () => void this.share());
        this.front("Gallery");
        this.app.listeners.push((message) => this.hear(message));
    }

    start(asked: Asked): void {
        this.app.start();
        this.app.send("gallery");
        void this.openAsked(asked, FIRST);
        addEventListener("hashchange", () => void this.openAsked(readFragment(location.hash), ""));
    }

    private pane(host: HTMLElement, tabs: HTMLElement, name: string): HTMLElement {
        const pane = el("div", { className: `pane ${name.toLowerCase()}` }), tab = el("button", { type: "button", onclick: () => this.front(name) }, name);
        pane.setAttribute("role", "tabpanel");
        pane.setAttribute("aria-label", name);
        tab.setAttribute("role", "tab");
        this.panes.push({ name, pane, tab });
        tabs.append(tab);
        host.append(pane);
        return pane;
    }

    private front(name: string): void {
        for (const { name: other, pane, tab } of this.panes) {
            pane.hidden = other !== name;
            tab.setAttribute("aria-selected", String(other === name));
        }
    }

    private async openAsked(asked: Asked, otherwise: string): Promise<void> {
        if (asked.packed) {
            try {
                const text = await unpackScene(asked.packed);
                this.editor.set(text);
                this.front("Editor");
                return this.run(text);
            } catch {
                this.app.toasts.show("error", "The scene in this link cannot be read: the link is cut or changed.");
            }
        }
        const origin = asked.builtin ?? otherwise;
        if (origin && origin !== this.origin) this.openBuiltin(origin);
    }

    private openBuiltin(origin: string): void {
        this.origin = origin;
        this.running = false;
        this.app.send(`scene ${origin}`);
        this.app.send(`source ${origin}`);
        this.gallery.show(origin);
    }

    private run(text: string): void {
        this.origin = "";
        this.running = true;
        this.editor.clear();
        this.gallery.show("");
        this.app.send(`scene ${text}`);
    }

    private hear(message: Message): void {
        if (message.type === "gallery") {
            this.gallery.fill(message);
            this.gallery.show(this.origin);
        } else if (message.type === "source") {
            if (this.origin) this.editor.set(message.text); // nobody's own text is overwritten
        } else if (message.type === "mechanism") {
            const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
            if (message.settings.playing === calm) this.app.send(calm ? "pause" : "play"); // a scene that is opened moves, unless that is unwelcome
            this.running = false;
            this.editor.clear();
        } else if (message.type === "notice" && message.level === "error" && (this.running || message.line !== undefined)) {
            this.running = false;
            this.front("Editor");
            this.editor.fail(message.text, message.line, message.column);
        }
    }

    private async share(): Promise<void> {
        const address = new URL(location.href);
        address.hash = this.origin ? `s=${this.origin}` : `scene=${await packScene(this.editor.text.value)}`;
        history.replaceState(null, "", address);
        try {
            await navigator.clipboard.writeText(address.href);
            this.app.toasts.show("info", "The link is copied.");
        } catch {
            this.app.toasts.show("info", "The link is in the address bar.");
        }
    }
}

export function startPlayground(source: Source, asked: Asked): void {
    new Playground(source).start(asked);
}
