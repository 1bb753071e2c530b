// render: pictures for the program that opened this page: each moment asked for, of an exact size, as PNG over a WebSocket.
// Each picture of a strip is told by `next`. It ends with `done`, or with `error: ...`. <html data-render> tells how many are made.
import { byId } from "./dom";
import { History } from "./history";
import { isOverlay, OVERLAYS } from "./overlays";
import { trail } from "./points";
import { bytesOfBase64, decodeFrames, type TapeData } from "./tape";
import { View } from "./view/view";

export interface RenderOrder {
    width: number;
    height: number;
    times: number[];
    /** All pictures side by side, as one. */
    strip: boolean;
    from: [number, number] | null;
    overlays: string[];
    theme: "dark" | "light";
    trails: string[];
}

const BUFFERED_MAX = 16 << 20, SIDE_MAX = 8192, STRIP_MAX = 32767; // what graphics and canvases can do everywhere

function check({ width, height, times, strip }: RenderOrder): void {
    for (const side of [width, height]) if (!(side >= 1 && side <= SIDE_MAX)) throw new Error(`a picture has sides of 1 to ${SIDE_MAX} pixels`);
    if (strip && width * times.length > STRIP_MAX) throw new Error(`a strip is at most ${STRIP_MAX} pixels wide`);
}

const later = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

function connect(): Promise<WebSocket> {
    return new Promise((done, fail) => {
        const socket = new WebSocket(`ws://${location.host}/render`);
        socket.onopen = () => done(socket);
        socket.onerror = () => fail(new Error("no connection"));
    });
}

function progress(text: string): void {
    document.documentElement.dataset.render = text;
    document.title = `render ${text}`;
}

/** Shows a recording moment by moment. */
class Camera {
    private readonly history = new History();
    private readonly view: View;

    constructor(private readonly data: TapeData, private readonly order: RenderOrder) {
        const nothing = (): void => {};
        const canvas = byId<HTMLCanvasElement>("view");
        canvas.style.cssText = `position: fixed; width: ${order.width}px; height: ${order.height}px`; // whatever the window is
        this.view = new View(canvas, byId("labels"), { grab: nothing, move: nothing, release: nothing, pick: nothing });
        const frames = decodeFrames(bytesOfBase64(data.frames));
        if (!frames.length) throw new Error("the recording has no frames");
        for (const frame of frames) this.history.push(frame);
        this.view.setTheme(order.theme);
        this.view.resize();
        for (const { name, on } of OVERLAYS) this.view.setOverlay(name, order.overlays.filter(isOverlay).includes(name) || (on && name !== "active"));
        this.view.setMechanism(data.mechanism, frames[0], frames.filter((_, i) => i % Math.ceil(frames.length / 40) === 0));
        if (order.from) this.view.lookFrom(...order.from);
    }

    async shoot(time: number): Promise<Blob> {
        const { history, view, order, data } = this, { index, mix } = history.find(time);
        view.show(history.at(index), mix > 0 ? history.at(index + 1) : null, mix);
        data.mechanism.joints.forEach((joint, j) => {
            if (!joint || !order.trails.includes(joint.name)) return;
            const points = trail(data.mechanism, j, history);
            view.setTrail(j, points, Math.ceil(points.length * (index + 1) / history.count));
        });
        return view.snapshot(order.width, order.height);
    }
}

async function sideBySide(pictures: Blob[], width: number, height: number): Promise<Blob> {
    const canvas = document.createElement("canvas"), ink = canvas.getContext("2d");
    canvas.width = width * pictures.length;
    canvas.height = height;
    for (let i = 0; i < pictures.length; ++i) {
        const bitmap = await createImageBitmap(pictures[i]);
        ink?.drawImage(bitmap, i * width, 0);
        bitmap.close();
    }
    return new Promise((done, fail) => canvas.toBlob((blob) => blob ? done(blob) : fail(new Error("the strip is too large for a picture")), "image/png"));
}

async function send(socket: WebSocket, picture: Blob): Promise<void> {
    const bytes = await picture.arrayBuffer();
    while (socket.bufferedAmount > BUFFERED_MAX && socket.readyState === WebSocket.OPEN) await later(5);
    if (socket.readyState !== WebSocket.OPEN) throw new Error("the connection was closed");
    socket.send(bytes);
}

async function work(socket: WebSocket, data: TapeData, order: RenderOrder): Promise<void> {
    check(order);
    const camera = new Camera(data, order), pictures: Blob[] = [];
    for (const [i, time] of order.times.entries()) {
        const picture = await camera.shoot(time);
        if (order.strip) pictures.push(picture); else await send(socket, picture);
        if (order.strip) socket.send("next"); // it is still at work
        progress(`${i + 1} of ${order.times.length}`);
    }
    if (order.strip) await send(socket, await sideBySide(pictures, order.width, order.height));
    socket.send("done");
    progress("done");
}

export async function startRender(data: TapeData, order: RenderOrder): Promise<void> {
    document.body.classList.add("bare");
    document.body.classList.remove("empty");
    document.documentElement.dataset.theme = order.theme;
    progress("0");
    let socket: WebSocket | null = null;
    try {
        socket = await connect();
        await work(socket, data, order);
    } catch (error) {
        const text = `error: ${error instanceof Error ? error.message : String(error)}`;
        if (socket?.readyState === WebSocket.OPEN) socket.send(text);
        progress(text);
    }
}
