// Bundles the page into one file that needs nothing else, and hands it to the program as C.
//     node build.mjs OUT_DIR                          writes OUT_DIR/viewer.html and OUT_DIR/viewer_page.c
//     node build.mjs --playground OUT.html WASM_FILE   the page with the simulation in it: opens from disk, needs no server
// The page has one line to fill in, SLOT: what it shows. Whoever writes a page puts it there.
import { build } from "esbuild";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const SLOT = "@TENON_DATA@";
const here = dirname(fileURLToPath(import.meta.url));

/** Script and style of an entry, minified. `</script` cannot stand in either. */
export async function bundle(entry) {
    const result = await build({
        entryPoints: [join(here, entry)], bundle: true, minify: true, write: false, outdir: "out", format: "iife", target: "es2022",
        legalComments: "none", loader: { ".css": "css" }, logLevel: "warning",
    });
    const text = (end) => (result.outputFiles.find((file) => file.path.endsWith(end))?.text ?? "").replaceAll("</script", "<\\/script").trim();
    return { script: text(".js"), style: text(".css") };
}

/** The page with everything in it but its data. */
export async function makePage(entry = "src/main.ts") {
    const { script, style } = await bundle(entry);
    const page = readFileSync(join(here, "src", "index.html"), "utf8");
    return page.replace("/*STYLE*/", () => style).replace("/*SCRIPT*/", () => script);
}

/** The page with a WebAssembly module and the worker that runs it. */
export async function makePlayground(wasm, worker = "wasm/worker.ts") {
    const page = await makePage(), { script } = await bundle(worker), data = `<script id="tenon-data"`;
    const extra = `<script id="tenon-worker" type="text/plain">${script}</script>\n<script id="tenon-wasm" type="text/plain">${Buffer.from(wasm).toString("base64")}</script>\n`;
    return page.replace(data, () => extra + data).replace(SLOT, () => `{"source":"playground"}`);
}

/** Bytes as C: strings of some length, since compilers refuse very long ones. */
function makeC(page) {
    const [before, after, ...more] = page.split(SLOT);
    if (after === undefined || more.length) throw new Error(`index.html must have ${SLOT} once`);
    const quote = (text) => "\"" + text.replace(/[\\"?]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\r", "\\r")
        .replace(/[\x00-\x09\x0b-\x1f\x7f]/g, (c) => "\\" + c.charCodeAt(0).toString(8).padStart(3, "0")) + "\"";
    const list = (text) => (text.match(/[^]{1,2000}/gu) ?? []).map((part) => `    ${quote(part)},\n`).join("");
    return "// Made by web/build.mjs.\n#include \"viewer_page.h\"\n\n" +
        `const char* const tnc_page_head[] = {\n${list(before)}    0,\n};\n\nconst char* const tnc_page_tail[] = {\n${list(after)}    0,\n};\n`;
}

async function main([first, ...rest]) {
    if (first === "--playground" && rest.length === 2) {
        const [out, wasm] = rest;
        mkdirSync(dirname(out), { recursive: true });
        writeFileSync(out, await makePlayground(readFileSync(wasm)));
    } else if (first && !first.startsWith("-") && !rest.length) {
        const page = await makePage();
        mkdirSync(first, { recursive: true });
        writeFileSync(join(first, "viewer.html"), page);
        writeFileSync(join(first, "viewer_page.c"), makeC(page));
    } else {
        console.error("usage: node build.mjs OUT_DIR\n       node build.mjs --playground OUT.html WASM_FILE");
        process.exitCode = 2;
    }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
