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

    constructor(private readonly script: string, private readonly wasm: ArrayBuffer) {}

    open(listener: Listener): void {
        const running = (): void => listener.status({ state: "open", text: "in this page" });
        const fail = (text: string): void => { // another scene begins afresh
            listener.status({ state: "lost", text: "the simulation has ended" });
            listener.message({ type: "notice", level: "error", text });
        };
        listener.status({ state: "opening", text: "starting" });
        const url = URL.createObjectURL(new Blob([this.script], { type: "text/javascript" }));
        this.worker = new Worker(url);
        URL.revokeObjectURL(url);
        this.worker.onerror = (event) => fail(event.message || "The simulation could not be started.");
        this.worker.onmessage = (event: MessageEvent<Posted>) => {
            const { message, frame, fatal } = event.data;
            if (fatal !== undefined) return fail(fatal);
            if (message !== undefined) {
                const parsed = parseMessage(message);
                if (parsed?.type === "mechanism") running();
                if (parsed) listener.message(parsed);
            }
            const decoded = frame && decodeFrame(frame);
            if (decoded) listener.frame(decoded);
        };
        this.worker.postMessage({ wasm: this.wasm }, [this.wasm]);
    }

    send(command: string): void {
        this.worker?.postMessage({ command });
    }

    close(): void {
        this.worker?.terminate();
    }
}
