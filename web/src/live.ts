// live: a simulation behind a WebSocket. When the server vanishes the page stays as it is and tries again, ever less often.
import { decodeFrame } from "./protocol";
import { parseMessage, type Listener, type Source } from "./source";

const FIRST_WAIT = 500, LAST_WAIT = 8000; // [ms]

export class Live implements Source {
    readonly steerable = true;
    private socket: WebSocket | null = null;
    private timer = 0;
    private wait = FIRST_WAIT;
    private closed = false;

    constructor(private readonly url: string) {}

    open(listener: Listener): void {
        listener.status({ state: "opening", text: "connecting" });
        const socket = new WebSocket(this.url);
        socket.binaryType = "arraybuffer";
        socket.onopen = () => {
            this.wait = FIRST_WAIT;
            listener.status({ state: "open", text: "live" });
        };
        socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => {
            if (typeof event.data === "string") {
                const message = parseMessage(event.data);
                if (message) listener.message(message);
            } else {
                const frame = decodeFrame(event.data);
                if (frame) listener.frame(frame);
            }
        };
        socket.onclose = () => { // an error closes too
            this.socket = null;
            if (this.closed) return;
            listener.status({ state: "lost", text: `the simulation is gone; trying again in ${Math.ceil(this.wait / 1000)} s` });
            this.timer = window.setTimeout(() => this.open(listener), this.wait);
            this.wait = Math.min(2 * this.wait, LAST_WAIT);
        };
        this.socket = socket;
    }

    send(command: string): void {
        if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(command);
    }

    close(): void {
        this.closed = true;
        clearTimeout(this.timer);
        this.socket?.close();
    }
}
