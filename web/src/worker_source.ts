// worker_source: a simulation within the page: WebAssembly in a worker that is made from text, so that it works from a file, too.
import { decodeFrame } from "./protocol";
import { parseMessage, type Listener, type Source } from "./source";

/** What the worker posts; one of these at a time. */
interface Posted {
    message?: string;
    frame?: ArrayBuffer;
    fatal?: string;
}

export class WorkerSource implements Source {
    readonly steerable = true;
    private worker: Worker | null = null;
    private listener: Listener | null = null;
    /** A scene was asked for, and is not there yet. */
    private opening = false;
    private answered = false;

    constructor(private readonly script: string, private readonly wasm: ArrayBuffer) {}

    open(listener: Listener): void {
        this.listener = listener;
        listener.status({ state: "opening", text: "starting" });
        this.start(listener);
    }

    private start(listener: Listener): void {
        const url = URL.createObjectURL(new Blob([this.script], { type: "text/javascript" })), worker = new Worker(url);
        URL.revokeObjectURL(url);
        this.worker?.terminate();
        this.worker = worker;
        this.answered = false;
        worker.onerror = (event) => this.fail(listener, event.message || "The simulation could not be started.");
        worker.onmessage = (event: MessageEvent<Posted>) => { if (worker === this.worker) this.hear(listener, event.data); };
        worker.postMessage({ wasm: this.wasm });
    }

    private hear(listener: Listener, { message, frame, fatal }: Posted): void {
        if (fatal !== undefined) return this.fail(listener, fatal);
        const parsed = message === undefined ? null : parseMessage(message), decoded = frame && decodeFrame(frame);
        this.answered = true;
        if (parsed?.type === "mechanism" || (this.opening && parsed?.type === "notice")) {
            this.opening = false;
            listener.status({ state: "open", text: "in this page" });
        }
        if (parsed) listener.message(parsed);
        if (decoded) listener.frame(decoded);
    }

    /** Another scene begins afresh. */
    private fail(listener: Listener, text: string): void {
        this.opening = false;
        listener.status({ state: "lost", text: "the simulation has ended" });
        listener.message({ type: "notice", level: "error", text });
    }

    send(command: string): void {
        if (command.startsWith("scene ") && this.listener) {
            if (this.opening && this.answered) this.start(this.listener); // one that is not there yet may take for ever, and nobody wants it now
            this.opening = true;
            this.listener.status({ state: "opening", text: "opening" });
        }
        this.worker?.postMessage({ command });
    }

    close(): void {
        this.worker?.terminate();
    }
}
