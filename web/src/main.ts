// main: reads what the page was given and starts what fits it.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { App } from "./app";
import { byId, setText } from "./dom";
import { readFragment } from "./fragment";
import { Live } from "./live";
import { startPlayground } from "./playground";
import { startRender, type RenderOrder } from "./render";
import { bytesOfBase64, Tape, type TapeData } from "./tape";
import { WorkerSource } from "./worker_source";

type Data = { source: "tape"; render?: RenderOrder } & TapeData | { source: "live" } | { source: "playground" };

const EMPTY = "This is Tenon's viewer, and it has nothing to show yet.\n\nA recording: tenon run SCENE --html motion.html\nA live simulation: tenon view SCENE";

const textOf = (id: string): string => document.getElementById(id)?.textContent ?? "";

function start(data: Data): void {
    const asked = readFragment(location.hash);
    if (data.source === "live") {
        byId("panel-edit").hidden = false;
        new App(new Live(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/live`), asked).start();
    } else if (data.source === "playground") {
        startPlayground(new WorkerSource(textOf("tenon-worker"), bytesOfBase64(textOf("tenon-wasm").trim())), asked);
    } else {
        byId("panel-edit").hidden = true;
        if (data.render) void startRender(data, data.render);
        else new App(new Tape(data), asked, data.note).start();
    }
}

function boot(): void {
    const text = textOf("tenon-data").trim();
    if (!text.startsWith("{")) return setText(byId("welcome"), EMPTY);
    try {
        start(JSON.parse(text) as Data);
    } catch (error) {
        setText(byId("welcome"), `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`);
        console.error(error);
    }
}

boot();
