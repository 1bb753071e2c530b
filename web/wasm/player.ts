// player: the module (module.h) as an object: commands in, messages and frames out. What comes out is copied, so the module's memory may grow.
import { makeImports } from "./wasi";

interface Exports {
    memory: WebAssembly.Memory;
    _initialize(): void;
    tnw_create(): number;
    tnw_room(player: number, bytes: number): number;
    tnw_command(player: number, length: number): void;
    tnw_advance(player: number, budget: number): number;
    tnw_wait(player: number): number;
    tnw_message(player: number): number;
    tnw_frame(player: number): number;
    tnw_length(player: number): number;
    tnw_hash(player: number): bigint;
}

export class Player {
    private readonly c: Exports;
    private readonly at: number;

    constructor(module: WebAssembly.Module) {
        const instance = new WebAssembly.Instance(module, makeImports(module, () => this.c.memory));
        this.c = instance.exports as unknown as Exports;
        this.c._initialize();
        this.at = this.c.tnw_create();
        if (!this.at) throw new Error("out of memory");
    }

    command(text: string): void {
        const bytes = new TextEncoder().encode(text), room = this.c.tnw_room(this.at, bytes.length);
        if (!room) throw new Error("out of memory");
        new Uint8Array(this.c.memory.buffer, room, bytes.length).set(bytes);
        this.c.tnw_command(this.at, bytes.length);
    }

    /** Steps for about so many seconds at most. True: a new frame is worth showing. */
    advance(seconds: number): boolean {
        return this.c.tnw_advance(this.at, seconds) !== 0;
    }

    /** Seconds until the next step is due; infinity while paused. */
    wait(): number {
        return this.c.tnw_wait(this.at);
    }

    /** What there is to say, all of it. */
    *messages(): Generator<string> {
        for (let from; (from = this.c.tnw_message(this.at)) !== 0;) yield new TextDecoder().decode(this.copy(from));
    }

    frame(): ArrayBuffer | null {
        const from = this.c.tnw_frame(this.at);
        return from ? this.copy(from) : null;
    }

    /** The state's hash, as reports have it. */
    hash(): string {
        return BigInt.asUintN(64, this.c.tnw_hash(this.at)).toString(16).padStart(16, "0");
    }

    memoryBytes(): number {
        return this.c.memory.buffer.byteLength;
    }

    private copy(from: number): ArrayBuffer {
        return this.c.memory.buffer.slice(from, from + this.c.tnw_length(this.at));
    }
}
