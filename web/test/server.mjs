// server: a page and a WebSocket for tests, without packages: what `tenon view` and `tenon render` are to the page.
import { createHash } from "node:crypto";
import { createServer } from "node:http";

const MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** A message from the server: one unmasked frame. */
function pack(data) {
    const body = Buffer.from(data), n = body.length, text = typeof data === "string";
    const head = n < 126 ? Buffer.from([0, n]) : n < 65536 ? Buffer.from([0, 126, n >> 8, n & 255]) : Buffer.concat([Buffer.from([0, 127, 0, 0, 0, 0]), Buffer.from(Uint32Array.of(n).buffer).reverse()]);
    head[0] = 0x80 | (text ? 1 : 2);
    return Buffer.concat([head, body]);
}

/** Takes whole messages out of what has come; pieces of one are joined. */
function makeReader(onMessage, onClose) {
    let waiting = Buffer.alloc(0), pieces = [], kind = 0;
    return (chunk) => {
        waiting = Buffer.concat([waiting, chunk]);
        for (;;) {
            if (waiting.length < 2) return;
            const code = waiting[0] & 15, last = waiting[0] & 128;
            let length = waiting[1] & 127, at = 2;
            if (length === 126) { length = waiting.length >= 4 ? waiting.readUInt16BE(2) : Infinity; at = 4; }
            else if (length === 127) { length = waiting.length >= 10 ? Number(waiting.readBigUInt64BE(2)) : Infinity; at = 10; }
            if (waiting.length < at + 4 + length) return;
            const mask = waiting.subarray(at, at + 4), body = Buffer.from(waiting.subarray(at + 4, at + 4 + length));
            for (let i = 0; i < body.length; ++i) body[i] ^= mask[i & 3];
            waiting = waiting.subarray(at + 4 + length);
            if (code === 8) return onClose();
            if (code === 1 || code === 2) { kind = code; pieces = []; }
            if (code <= 2) pieces.push(body);
            if (code <= 2 && last) onMessage(kind === 1 ? Buffer.concat(pieces).toString() : Buffer.concat(pieces));
        }
    };
}

/** Serves `page` (text, or a function that makes it); connected(client, path): client has send(), close(), onmessage. */
export function serve(page, connected = () => {}, port = 0) {
    const server = createServer((_, response) => response.setHeader("content-type", "text/html; charset=utf-8").end(typeof page === "function" ? page() : page));
    const sockets = new Set();
    server.on("connection", (socket) => { sockets.add(socket); socket.on("close", () => sockets.delete(socket)); });
    server.on("upgrade", (request, socket) => {
        const key = createHash("sha1").update(request.headers["sec-websocket-key"] + MAGIC).digest("base64");
        socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`);
        const client = { onmessage: () => {}, onclose: () => {}, send: (data) => socket.writable && socket.write(pack(data)), close: () => socket.destroy() };
        socket.on("data", makeReader((message) => client.onmessage(message), () => socket.end()));
        socket.on("error", () => {});
        socket.on("close", () => client.onclose());
        connected(client, request.url);
    });
    return new Promise((done) => server.listen(port, "127.0.0.1", () => done({
        port: server.address().port, url: `http://127.0.0.1:${server.address().port}/`,
        close: () => new Promise((closed) => { for (const socket of sockets) socket.destroy(); server.close(closed); }),
    })));
}
