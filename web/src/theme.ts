// theme: dark or light: as the system has it, until somebody chooses; the choice is remembered where that is allowed.
export type Theme = "dark" | "light";
const KEY = "tenon-theme";

function remembered(): Theme | null {
    try {
        const theme = localStorage.getItem(KEY);
        return theme === "dark" || theme === "light" ? theme : null;
    } catch { // a page from a file may have no storage
        return null;
    }
}

export class ThemeSwitch {
    private readonly system = matchMedia("(prefers-color-scheme: dark)");
    private chosen: Theme | null;

    constructor(asked: Theme | null, private readonly changed: (theme: Theme) => void) {
        this.chosen = asked ?? remembered();
        this.system.addEventListener("change", () => this.apply());
        document.documentElement.dataset.theme = this.theme;
    }

    get theme(): Theme { return this.chosen ?? (this.system.matches ? "dark" : "light"); }

    toggle(): void {
        this.chosen = this.theme === "dark" ? "light" : "dark";
        try {
            localStorage.setItem(KEY, this.chosen);
        } catch { /* then it is forgotten */ }
        this.apply();
    }

    apply(): void {
        document.documentElement.dataset.theme = this.theme;
        this.changed(this.theme);
    }
}
