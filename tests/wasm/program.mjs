// program: build/wasm/tenon.wasm, run by node's own WASI as the native program is by the shell. It sees the folder it is run in.
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { WASI } from "node:wasi";

setFlagsFromString("--no-turbo-fast-api-calls"); // with them node's WASI crashes now and then: nodejs/node issue 53087

export const compileProgram = () => WebAssembly.compile(readFileSync("build/wasm/tenon.wasm"));

/** A folder for what runs print; `use` is given it, and it is gone afterwards. */
export async function withFolder(use) {
    const folder = mkdtempSync(join(tmpdir(), "tenon-wasm-"));
    try {
        return await use(folder);
    } finally {
        rmSync(folder, { recursive: true });
    }
}

/** One run: its exit code, and what it printed. */
export async function runProgram(program, args, folder) {
    const paths = [join(folder, "out"), join(folder, "err")];
    const [stdout, stderr] = paths.map((path) => openSync(path, "w"));
    const wasi = new WASI({ version: "preview1", args: ["tenon", ...args], preopens: { ".": "." }, stdout, stderr, returnOnExit: true });
    const code = wasi.start(await WebAssembly.instantiate(program, wasi.getImportObject()));
    [stdout, stderr].forEach((file) => closeSync(file));
    const [out, err] = paths.map((path) => readFileSync(path, "utf8"));
    return { code, out, err };
}
