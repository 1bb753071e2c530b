// Whether a simulation keeps up, in words; frames as a stage sends them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { paceOf } from "../src/pace";
import { decodeFrame, type Frame } from "../src/protocol";
import { FakeStage } from "./fake_stage.mjs";

function frameOf(options: { realTime: number; stepSeconds: number }): Frame {
    const sent: unknown[] = [], stage = new FakeStage((data: unknown) => sent.push(data), options);
    stage.close();
    const last = sent[sent.length - 1], frame = last instanceof ArrayBuffer ? decodeFrame(last) : null;
    assert.ok(frame);
    return frame;
}

const words = (frame: Frame | null, speed = 1, silence = 0, h = 1 / 60): string => {
    const { rate, more, slow } = paceOf(frame, speed, silence, h);
    assert.equal(slow, rate.startsWith("slow"));
    return rate + more;
};

test("a simulation that keeps up says how fast it is", () => {
    assert.equal(words(frameOf({ realTime: 1, stepSeconds: 0.001 })), "1.00\u00d7 real time");
    assert.equal(words(frameOf({ realTime: 0.25, stepSeconds: 0.001 }), 0.25), "0.25\u00d7 real time");
    assert.equal(words(null), "");
    assert.equal(words(frameOf({ realTime: 0, stepSeconds: 0.001 })), "");
});

test("a slow one says so, and how long a step takes", () => {
    assert.equal(words(frameOf({ realTime: 0.2, stepSeconds: 0.0804 })), "slow: 0.20\u00d7 real time; a step takes 80 ms");
    assert.equal(words(frameOf({ realTime: 1, stepSeconds: 0.004 }), 5), "slow: 1.00\u00d7 real time; a step takes 4 ms");
    assert.equal(words(frameOf({ realTime: 0.2, stepSeconds: 0 })), "slow: 0.20\u00d7 real time");
});

test("a step that does not end is slow, unless none is due", () => {
    const frame = frameOf({ realTime: 1, stepSeconds: 0.001 });
    assert.equal(words(frame, 1, 0.4), "1.00\u00d7 real time");
    assert.equal(words(frame, 1, 0.6), "slow: a step takes more than 0.5 s");
    assert.equal(words(null, 1, 3.7), "slow: a step takes more than 3.5 s");
    assert.equal(words(frame, 0.01, 3, 1 / 60), "1.00\u00d7 real time"); // the next step is due after 1.7 s
});
