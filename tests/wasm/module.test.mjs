// module.test: the playground's module through its own glue (web/wasm): the same bits as recorded, the same complaints as the program,
// its answers, its memory; and the worker around it, with a page that is an array.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { withFolder } from "./program.mjs";

const { build } = createRequire(new URL("../../web/package.json", import.meta.url))("esbuild");
const lines = (path) => readFileSync(path, "utf8").split("\n").filter((line) => line && !/^ *#/.test(line));
const wasm = readFileSync("build/wasm/tenon_module.wasm"), compiled = new WebAssembly.Module(wasm);
let passed = 0, failed = 0;

async function check(name, test) {
    try {
        await test();
        passed++;
    } catch (error) {
        failed++;
        console.log(`FAILED: ${name}: ${error.stack}`);
    }
}

function equal(found, expected, what = "") {
    if (found !== expected) throw new Error(`${what} is ${found}, not ${expected}`);
}

const bundle = (entry, outfile, format) => build({ entryPoints: [entry], bundle: true, format, outfile, logLevel: "warning", target: "es2022" });

// ---- The module ----------------------------------------------------------------------------------

let Player; // of web/wasm/player.ts

/** What commands are answered; steps that they ask for are taken. */
const told = (player, ...commands) => commands.flatMap((command) => {
    player.command(command);
    while (/^step/.test(command) && player.wait() === 0) player.advance(1);
    return [...player.messages()].map((text) => JSON.parse(text));
});

/** "@chain:n=3 --h 0.01 --set a=b": the scene, and settings as pairs. */
function readRun(line) {
    const [scene, ...options] = line.split(" "), settings = [];
    for (let i = 0; i < options.length; i += 2) settings.push(options[i] === "--set" ? options[i + 1].split("=") : [options[i].slice(2), options[i + 1]]);
    return { scene, settings };
}

function checkBits(line, hash) {
    const { scene, settings } = readRun(line), player = new Player(compiled);
    const [mechanism] = told(player, `scene ${scene}`);
    equal(mechanism.type, "mechanism", "the first answer");
    let { h } = mechanism.settings, { duration } = mechanism;
    for (const [key, value] of settings) {
        const [answer] = told(player, `set ${key} ${value}`);
        equal(answer.type, "settings", `the answer to ${key}`);
        if (key === "duration") duration = Number(value);
        h = answer.h;
    }
    told(player, "reset", `step ${Math.floor(duration / h + 0.5)}`);
    equal(player.hash(), hash, "the hash");
}

function checkMalformed(scene, at, text) {
    const player = new Player(compiled), before = (told(player, "scene @fourbar"), player.hash());
    const [notice, ...more] = told(player, `scene ${scene}`);
    equal(more.length, 0, "answers beside the notice");
    equal(notice.type, "notice", "the answer");
    equal(`${notice.line}:${notice.column}`, at, "the place");
    equal(notice.text.includes(text), true, `"${text}" in "${notice.text}"`);
    equal(player.hash(), before, "the scene before");
}

async function checkModule() {
    for (const line of lines("tests/golden/hashes.txt")) {
        const run = line.slice(18);
        if (!run.includes("--mocap")) await check(run, () => checkBits(run, line.slice(0, 16)));
    }
    for (const line of lines("tests/malformed/expected.txt")) {
        const [file, at, text] = line.split("\t"), bytes = readFileSync(`tests/malformed/${file}`), scene = bytes.toString();
        const usable = Buffer.from(scene).equals(bytes) && !scene.includes("\"file\""); // a page has texts, and no files
        if (usable) await check(file, () => checkMalformed(scene, at, text));
    }
    const player = new Player(compiled);
    const [gallery] = told(player, "gallery");
    await check("the gallery has scenes with parameters", () => {
        const chain = gallery.scenes.find((scene) => scene.name === "chain"), joint = chain.params.find((param) => param.name === "joint");
        equal(gallery.scenes.length >= 37, true, "37 scenes");
        equal(joint.words.join(), "ball,hinge", "words");
        equal(chain.params.find((param) => param.name === "n").words, null, "words of a number");
    });
    for (const { name } of gallery.scenes) await check(`source of ${name}`, () => {
        const [{ type, text }] = told(player, `source @${name}`);
        equal(type, "source", "the answer");
        const built = (told(player, `scene @${name}`), player.hash());
        equal(told(player, `scene ${text}`)[0].type, "mechanism", "the answer to its own source");
        equal(player.hash(), built, "its start");
    });
    await check("what cannot be had is said", () => {
        for (const command of ["source @chian", "scene @chain:n=0", "scene @nothing", "scene ", "sceen", "", "play"]) {
            const [notice] = told(new Player(compiled), command);
            equal(notice.type, "notice", `the answer to "${command}"`);
        }
        equal(told(player, "source @chian")[0].text.includes("chain"), true, "the nearest name");
    });
    await check("a thousand scenes take the memory of one", () => {
        const names = ["@fourbar", "@chain:n=50", "@boxes", "@hand"], open = (i) => told(player, `scene ${names[i % 4]}`, "step 2");
        for (let i = 0; i < 20; ++i) open(i);
        const before = player.memoryBytes();
        for (let i = 0; i < 1000; ++i) open(i);
        equal(player.memoryBytes(), before, "memory");
    });
    await check("frames are frames", () => {
        told(player, "scene @fourbar", "show 31", "step 3");
        const head = new DataView(player.frame());
        equal(head.getUint32(0, true), 0x31464e54, "magic");
        equal(head.getUint32(4, true), head.byteLength, "size");
        equal(head.getFloat64(16, true), 3, "steps");
    });
}

// ---- The worker ----------------------------------------------------------------------------------

/** The worker's script with a page that keeps what it is posted. */
function startWorker(script, bytes) {
    const posted = [], self = { postMessage: (data) => { posted.push(data); self.heard?.(); } };
    new Function("self", script)(self);
    self.onmessage({ data: { wasm: bytes } });
    return {
        posted,
        send: (command) => self.onmessage({ data: { command } }),
        /** Waits until something posted from now on is what `wanted` says. */
        until: (wanted) => new Promise((resolve, reject) => {
            let from = posted.length;
            const hanging = setTimeout(() => reject(new Error("it never comes")), 120000);
            self.heard = () => {
                while (from < posted.length && !wanted(posted[from])) from++;
                if (from === posted.length) return;
                self.heard = null;
                clearTimeout(hanging);
                resolve();
            };
        }),
    };
}

/** A module that can be started and breaks down at its first command. */
function makeBroken() {
    const names = ["memory", "_initialize", "tnw_create", "tnw_room", "tnw_command", "tnw_advance", "tnw_wait", "tnw_message", "tnw_frame", "tnw_length", "tnw_hash"];
    const text = (name) => [name.length, ...Buffer.from(name)], section = (id, bytes) => {
        const size = [bytes.length & 127 | 128, bytes.length >> 7]; // LEB128, two bytes
        return [id, ...size, ...bytes];
    };
    const kinds = [[2, 0], [0, 0], [0, 1]], exports = names.flatMap((name, i) => [...text(name), ...(kinds[i] ?? [0, 2])]);
    return Uint8Array.from([0, 97, 115, 109, 1, 0, 0, 0,
        ...section(1, [2, 0x60, 0, 0, 0x60, 0, 1, 0x7f]), // () -> nothing, () -> i32
        ...section(3, [3, 0, 1, 0]), ...section(5, [1, 0, 1]),
        ...section(7, [names.length, ...exports]),
        ...section(10, [3, 2, 0, 0x0b, 4, 0, 0x41, 8, 0x0b, 3, 0, 0x00, 0x0b])]).buffer;
}

async function checkWorker(script) {
    const bytes = () => wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.length);
    await check("the worker plays", async () => {
        const worker = startWorker(script, bytes()), later = worker.until(({ frame }) => frame && new DataView(frame).getFloat64(24, true) > 0.1);
        worker.send("scene @fourbar");
        equal(JSON.parse(worker.posted[0].message).type, "mechanism", "what comes first");
        await later;
        const paused = worker.until(({ frame }) => frame && !(new DataView(frame).getUint32(12, true) & 1));
        worker.send("pause");
        await paused;
        const stepped = worker.until(({ frame }) => frame), at = worker.posted.length;
        worker.send("step 2");
        await stepped;
        equal(worker.posted.slice(at).filter(({ frame }) => frame).length, 1, "frames of two steps");
    });
    await check("a breakdown is told, and another module may follow", async () => {
        const worker = startWorker(script, makeBroken());
        worker.send("scene @fourbar");
        equal(worker.posted.at(-1).fatal, "The simulation broke down: unreachable.", "what is told");
        worker.send("scene @fourbar"); // a fresh one, as bad
        equal(worker.posted.length, 2, "what was posted");
    });
    await check("no module at all is told", () => {
        equal(startWorker(script, new ArrayBuffer(3)).posted[0].fatal.startsWith("The simulation cannot be started: "), true, "what is told");
    });
}

await withFolder(async (folder) => {
    const [glue, worker] = [join(folder, "player.mjs"), join(folder, "worker.js")];
    await Promise.all([bundle("web/wasm/player.ts", glue, "esm"), bundle("web/wasm/worker.ts", worker, "iife")]);
    ({ Player } = await import(pathToFileURL(glue)));
    await checkModule();
    await checkWorker(readFileSync(worker, "utf8"));
});
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0); // the worker's channel would keep it alive
