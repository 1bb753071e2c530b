// labels: words over the picture, as HTML. They are asked for anew for every picture, most important first; those that
// would cover an earlier one are left out.

export interface Label { text: string; x: number; y: number; tone: "body" | "joint" | "force" | "selected" }

const STYLE = "position:absolute;left:0;top:0;white-space:nowrap;pointer-events:none;line-height:1.2;will-change:transform;";
const TONES: Record<Label["tone"], string> = {
    body: "font-size:12px;opacity:.95;", joint: "font-size:11px;opacity:.7;font-style:italic;", force: "font-size:12px;font-weight:600;",
    selected: "font-size:13px;font-weight:600;",
};

/** Guessed [pixels]. */
export const labelWidth = (text: string): number => 6.6 * text.length + 6;

/** The labels that are shown: at most `most`, none over another. */
export function chooseLabels(labels: Label[], most: number): Label[] {
    const shown: Label[] = [];
    const width = (label: Label): number => labelWidth(label.text);
    for (const label of labels) {
        if (shown.length >= most) break;
        const covered = shown.some((other) => Math.abs(other.y - label.y) < 16 && label.x < other.x + width(other)
            && other.x < label.x + width(label));
        if (!covered) shown.push(label);
    }
    return shown;
}

export class Labels {
    private readonly pool: HTMLElement[] = [];
    private halo = "";

    constructor(private readonly box: HTMLElement) {}

    setTheme(text: string, halo: string): void {
        this.box.style.color = text;
        this.halo = `text-shadow:0 0 3px ${halo},0 0 3px ${halo},0 0 6px ${halo};`;
    }

    show(labels: Label[], most = 60): void {
        const shown = chooseLabels(labels, most);
        while (this.pool.length < shown.length) this.pool.push(this.box.appendChild(document.createElement("span")));
        this.pool.forEach((span, i) => {
            const label = shown[i];
            if (!label) {
                if (span.textContent) span.textContent = "";
                return;
            }
            if (span.textContent !== label.text) span.textContent = label.text;
            span.style.cssText = STYLE + TONES[label.tone] + this.halo + `transform:translate(${label.x.toFixed(1)}px,${label.y.toFixed(1)}px)`;
        });
    }

    dispose(): void { for (const span of this.pool.splice(0)) span.remove(); }
}
