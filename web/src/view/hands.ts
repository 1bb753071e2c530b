// hands: mouse, pen and fingers on the canvas, turned into what they mean.
//
// One pointer on a body that may be grabbed draws it; anywhere else it turns the view. Right or middle button or shift moves, two
// fingers move and zoom, the wheel zooms. A press that did not move is a click.

export interface Handled {
    /** Tries to take what is under the pointer. False: nothing there, or not to be taken. */
    grab(x: number, y: number): boolean;
    draw(x: number, y: number): void;
    release(): void;
    turn(dx: number, dy: number): void;
    pan(dx: number, dy: number): void;
    zoomAt(factor: number, x: number, y: number): void;
    hover(x: number, y: number): void;
    leave(): void;
    click(x: number, y: number, coarse: boolean): void;
    focus(x: number, y: number): void;
}

const STILL = 4, STILL_COARSE = 10; // pixels that a click may move

export class Hands {
    private readonly pointers = new Map<number, { x: number; y: number }>();
    private readonly off = new AbortController();
    private holder: number | null = null; // the pointer that has a body
    private pressed: { x: number; y: number } | null = null;

    constructor(private readonly canvas: HTMLCanvasElement, private readonly handled: Handled) {
        const { signal } = this.off;
        canvas.style.touchAction = "none";
        canvas.addEventListener("pointerdown", (e) => this.down(e), { signal });
        canvas.addEventListener("pointermove", (e) => this.move(e), { signal });
        canvas.addEventListener("pointerup", (e) => this.up(e, true), { signal });
        canvas.addEventListener("pointercancel", (e) => this.up(e, false), { signal });
        canvas.addEventListener("lostpointercapture", (e) => this.up(e, false), { signal });
        canvas.addEventListener("pointerleave", () => handled.leave(), { signal });
        canvas.addEventListener("contextmenu", (e) => e.preventDefault(), { signal });
        canvas.addEventListener("dblclick", (e) => { const p = this.at(e); handled.focus(p.x, p.y); }, { signal });
        canvas.addEventListener("wheel", (e) => {
            e.preventDefault();
            const p = this.at(e), lines = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 300 : 1;
            handled.zoomAt(Math.exp(Math.max(-200, Math.min(200, e.deltaY * lines)) * (e.ctrlKey ? 0.008 : 0.0014)), p.x, p.y);
        }, { signal, passive: false });
    }

    /** Whether somebody turns, moves or draws now. */
    get busy(): boolean { return this.pointers.size > 0; }

    private at(e: MouseEvent): { x: number; y: number } {
        const box = this.canvas.getBoundingClientRect();
        return { x: e.clientX - box.left, y: e.clientY - box.top };
    }

    private down(e: PointerEvent): void {
        const p = this.at(e);
        try { this.canvas.setPointerCapture(e.pointerId); } catch { /* a pointer that is gone already */ }
        this.pointers.set(e.pointerId, p);
        this.pressed = this.pointers.size === 1 && e.button === 0 ? p : null;
        if (this.pointers.size > 1) this.letGo();
        else if (e.button === 0 && !e.shiftKey && this.handled.grab(p.x, p.y)) this.holder = e.pointerId;
    }

    private move(e: PointerEvent): void {
        const p = this.at(e), old = this.pointers.get(e.pointerId);
        if (!old) {
            if (e.pointerType !== "touch") this.handled.hover(p.x, p.y);
            return;
        }
        const still = e.pointerType === "mouse" ? STILL : STILL_COARSE;
        if (this.pressed && Math.hypot(p.x - this.pressed.x, p.y - this.pressed.y) > still) this.pressed = null;
        const dx = p.x - old.x, dy = p.y - old.y;
        if (this.holder === e.pointerId) this.handled.draw(p.x, p.y);
        else if (this.pointers.size === 2) this.pinch(e.pointerId, old, p);
        else if (this.pointers.size === 1 && !this.pressed) {
            if (e.buttons & 6 || e.shiftKey) this.handled.pan(dx, dy);
            else this.handled.turn(dx, dy);
        } else if (this.pressed) return; // not yet a drag: the way so far is made up for when it is
        this.pointers.set(e.pointerId, p);
    }

    private pinch(id: number, old: { x: number; y: number }, p: { x: number; y: number }): void {
        const other = [...this.pointers].find(([key]) => key !== id)![1];
        const before = Math.hypot(old.x - other.x, old.y - other.y), after = Math.max(1, Math.hypot(p.x - other.x, p.y - other.y));
        this.handled.zoomAt(before / after, (p.x + other.x) / 2, (p.y + other.y) / 2);
        this.handled.pan((p.x - old.x) / 2, (p.y - old.y) / 2);
    }

    private up(e: PointerEvent, done: boolean): void {
        if (!this.pointers.delete(e.pointerId)) return;
        if (this.holder === e.pointerId) this.letGo();
        if (done && this.pressed && this.pointers.size === 0) this.handled.click(this.pressed.x, this.pressed.y, e.pointerType !== "mouse");
        this.pressed = null;
    }

    private letGo(): void {
        if (this.holder === null) return;
        this.holder = null;
        this.handled.release();
    }

    dispose(): void {
        this.letGo();
        this.off.abort();
    }
}
