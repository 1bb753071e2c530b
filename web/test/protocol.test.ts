// Frames made byte by byte come back as they were; broken ones come back as nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFrame, Part } from "../src/protocol";
import { parseMessage } from "../src/source";
import { decodeFrames } from "../src/tape";
import { makeFrame } from "./sample.mjs";

function joined(buffers: ArrayBuffer[]): ArrayBuffer {
    const all = Buffer.concat(buffers.map((buffer) => new Uint8Array(buffer))), copy = new Uint8Array(all.length);
    copy.set(all);
    return copy.buffer;
}

test("the head of a frame", () => {
    const frame = decodeFrame(makeFrame({ time: 1.25, step: 125, kinetic: 2, gravity: -3, elastic: 0.5, error: 1e-12, stepSeconds: 3e-4, realTime: 0.9, playing: true, stopped: true, active: 2 }));
    assert.ok(frame);
    assert.deepEqual([frame.time, frame.step, frame.kinetic, frame.gravity, frame.elastic, frame.jointError], [1.25, 125, 2, -3, 0.5, 1e-12]);
    assert.deepEqual([frame.stepSeconds, frame.realTime, frame.playing, frame.stopped, frame.activeCount, frame.velocityError], [3e-4, 0.9, true, true, 2, 1e-12]);
});

test("every set of parts has its parts, at their place", () => {
    for (let parts = 0; parts < 32; ++parts) {
        const frame = decodeFrame(makeFrame({ time: 0.5, bodies: 4, joints: 33, coordinates: 40, contacts: 2, handles: 1, parts }));
        assert.ok(frame, `parts ${parts}`);
        assert.equal(frame.poses.length, 28);
        assert.equal(frame.errors?.length ?? 0, parts & Part.errors ? 33 : 0);
        assert.equal(frame.forces?.length ?? 0, parts & Part.forces ? 198 : 0);
        assert.equal(frame.coordinates?.length ?? 0, parts & Part.coordinates ? 40 : 0);
        assert.equal(frame.active?.length ?? 0, parts & Part.active ? 2 : 0);
        assert.equal(frame.contacts?.length ?? 0, parts & Part.contacts ? 20 : 0);
        assert.equal(frame.handles.length, 11);
        if (frame.errors) assert.equal(frame.errors[32], Math.fround(33e-13));
        if (frame.coordinates) assert.equal(frame.coordinates[39], Math.fround(Math.cos(1.5 + 39)));
        if (frame.active) assert.equal(frame.active[1], 0x55555555);
    }
});

test("broken frames are none", () => {
    const good = makeFrame({ contacts: 1, handles: 1 }), change = (at: number, value: number): ArrayBuffer => {
        const copy = good.slice(0);
        new DataView(copy).setUint32(at, value, true);
        return copy;
    };
    assert.ok(decodeFrame(good));
    assert.equal(decodeFrame(new ArrayBuffer(0)), null);
    assert.equal(decodeFrame(good.slice(0, 111)), null);
    assert.equal(decodeFrame(good.slice(0, good.byteLength - 8)), null);
    assert.equal(decodeFrame(change(0, 0)), null, "another kind");
    assert.equal(decodeFrame(change(4, 8)), null, "shorter than its head");
    assert.equal(decodeFrame(change(4, 1 << 30)), null, "longer than what came");
    for (const at of [88, 92, 96, 100, 104]) assert.equal(decodeFrame(change(at, 0xffffffff)), null, `a huge count at ${at}`);
});

test("frames one after the other, up to a broken one", () => {
    const all = joined([makeFrame({ time: 0, bodies: 1 }), makeFrame({ time: 1, bodies: 2 }), makeFrame({ time: 2, bodies: 1 })]);
    assert.deepEqual(decodeFrames(all).map((frame) => frame.time), [0, 1, 2]);
    assert.deepEqual(decodeFrames(all.slice(0, all.byteLength - 8)).map((frame) => frame.time), [0, 1]);
    assert.deepEqual(decodeFrames(new ArrayBuffer(0)), []);
});

test("messages that are none of ours are left out", () => {
    assert.equal(parseMessage(`{"type": "notice", "level": "info", "text": "so"}`)?.type, "notice");
    for (const text of ["", "{", "null", "3", `"notice"`, "[]", "{}", `{"type": "other"}`]) assert.equal(parseMessage(text), null, text);
});
