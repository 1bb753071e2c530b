// fake_worker: what web/wasm/worker.ts is to the page, with the made-up motion: a worker for tests, bundled by page.mjs.
import { FakeStage } from "./fake_stage.mjs";

const GALLERY = { type: "gallery", scenes: [
    { name: "chain", help: "a chain that hangs", params: [
        { name: "n", help: "links", value: 3, lower: 1, upper: 1000, whole: true, words: null },
        { name: "joint", help: "what holds them", value: 0, lower: 0, upper: 1, whole: true, words: ["ball", "hinge"] }] },
    { name: "robot", help: "an arm, dragged by its hand", params: [] },
] };
let stage = null;

const post = (data) => typeof data === "string" ? self.postMessage({ message: data }) : self.postMessage({ frame: data }, [data]);

function open(text) {
    stage?.close();
    stage = null;
    if (text.startsWith("@")) { stage = new FakeStage(post, { bodies: Number(/n=(\d+)/.exec(text)?.[1] ?? 3) }); return; }
    const bad = text.split("\n").findIndex((line) => line.includes("bodeis"));
    if (bad >= 0) post(JSON.stringify({ type: "notice", level: "error", text: "unknown key 'bodeis': did you mean 'bodies'?", line: bad + 1, column: text.split("\n")[bad].indexOf("bodeis") + 1 }));
    else stage = new FakeStage(post, { bodies: 2 });
}

self.onmessage = ({ data }) => {
    if (data.wasm) { if (data.wasm.byteLength !== 3) self.postMessage({ fatal: "The module is broken." }); return; }
    const [word, rest] = data.command.split(/ (.*)/s);
    if (word === "gallery") post(JSON.stringify(GALLERY));
    else if (word === "source") post(JSON.stringify({ type: "source", text: `{\n  "tenon_scene": 1,\n  "name": "${rest}",\n  "bodies": []\n}\n` }));
    else if (word === "scene") open(rest);
    else stage?.command(data.command);
};
