// worker: runs the simulation beside the page. The page posts { wasm } once, then { command } as often as it likes; it is posted
// { message } (JSON), { frame } and, when the module broke down, { fatal }: the next command then begins with a fresh module, without a scene.
// Work comes in turns of some milliseconds, between which commands are heard; frames go out at most 60 times a second.
import { Player } from "./player";

interface Page {
    postMessage(message: { message: string } | { frame: ArrayBuffer } | { fatal: string }, transfer?: Transferable[]): void;
    onmessage: (event: { data: { wasm?: ArrayBuffer; command?: string } }) => void;
}

const TURN = 0.012; // seconds of work
const FRAME = 1000 / 60; // milliseconds from frame to frame

const page = self as unknown as Page;
let module: WebAssembly.Module | null = null;
let player: Player | null = null;
let shown = -Infinity; // when the last frame went out
let due: ReturnType<typeof setTimeout> | undefined;
let queued = false; // a turn is in this channel: at once, but behind commands that wait (a timeout of 0 comes late)
const soon = new MessageChannel();
soon.port1.onmessage = (): void => {
    queued = false;
    guard("The simulation broke down", turn);
};

/** A module that broke down cannot go on: it says why, and is thrown away. */
function guard(trouble: string, work: () => void): void {
    try {
        work();
    } catch (error) {
        player = null;
        clearTimeout(due);
        page.postMessage({ fatal: `${trouble}: ${error instanceof Error ? error.message : String(error)}.` });
    }
}

function postMessages(from: Player): void {
    for (const message of from.messages()) page.postMessage({ message });
}

function plan(milliseconds: number): void {
    clearTimeout(due);
    if (milliseconds >= 1 && milliseconds < Infinity) due = setTimeout(() => guard("The simulation broke down", turn), milliseconds);
    else if (milliseconds < 1 && !queued) {
        queued = true;
        soon.port2.postMessage(null);
    }
}

function turn(): void {
    if (!player) return;
    const fresh = player.advance(TURN);
    postMessages(player);
    const left = shown + FRAME - performance.now(), show = fresh && left < 1;
    if (show) {
        const frame = player.frame();
        shown = performance.now();
        if (frame) page.postMessage({ frame }, [frame]);
    }
    plan(Math.min(1000 * player.wait(), fresh && !show ? left : Infinity));
}

function obey(command: string): void {
    if (!module) throw new Error("there is no module yet");
    player ??= new Player(module);
    player.command(command);
    postMessages(player);
    plan(0);
}

page.onmessage = ({ data: { wasm, command } }): void => {
    if (wasm) guard("The simulation cannot be started", () => { player = new Player(module = new WebAssembly.Module(wasm)); });
    if (command !== undefined) guard("The simulation broke down", () => obey(command));
};
