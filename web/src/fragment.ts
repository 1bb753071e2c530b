// fragment: what a link says after its '#': which moment of a recording, how it is looked at, or a whole scene.
//     #t=1.5&bare&trail=JOINT&from=AZIMUTH,ELEVATION&overlays=error,forces&theme=dark&play
//     #s=@chain:n=20          a built-in scene          #scene=...  the text of a scene, deflated, base 64 for addresses
export interface Asked {
    time: number | null;
    bare: boolean;
    /** The old page's word for: joints that are held are painted as others. */
    plain: boolean;
    play: boolean;
    trails: string[];
    from: [number, number] | null;
    overlays: string[] | null;
    theme: "dark" | "light" | null;
    builtin: string | null;
    packed: string | null;
}

export function readFragment(hash: string): Asked {
    const asked = new URLSearchParams(hash.replace(/^#/, "").replaceAll("+", "%2B")), theme = asked.get("theme"), packed = asked.get("scene");
    const time = asked.has("t") ? Number(asked.get("t")) : NaN, from = (asked.get("from") ?? "").split(",").map(Number);
    const builtin = asked.get("s");
    return {
        time: asked.has("t") ? Number.isFinite(time) ? time : 0 : null,
        bare: asked.has("bare"), plain: asked.has("plain"), play: asked.has("play"), trails: asked.getAll("trail"),
        from: asked.has("from") && from.length === 2 && from.every(Number.isFinite) ? [from[0], from[1]] : null,
        overlays: asked.has("overlays") ? (asked.get("overlays") ?? "").split(",").filter((word) => word) : null,
        theme: theme === "dark" || theme === "light" ? theme : null,
        builtin: builtin && /^@[\w:=,.+-]+$/.test(builtin) ? builtin : null,
        packed: packed || null,
    };
}

const SCENE_MAX = 8 << 20; // a link that unpacks to more than this is no scene

/** Runs bytes through a stream, up to a bound. */
async function pass(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array<ArrayBuffer>> {
    const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader(), parts: Uint8Array<ArrayBuffer>[] = [];
    for (let size = 0; ;) {
        const { done, value } = await reader.read();
        if (done) break;
        size += value.length;
        if (size > SCENE_MAX) throw new Error("it is too large");
        parts.push(value as Uint8Array<ArrayBuffer>);
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
}

export async function packScene(text: string): Promise<string> {
    const bytes = await pass(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
    let letters = "";
    for (const byte of bytes) letters += String.fromCharCode(byte);
    return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Throws where it is not what packScene makes. */
export async function unpackScene(packed: string): Promise<string> {
    const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(await pass(bytes, new DecompressionStream("deflate-raw")));
}
