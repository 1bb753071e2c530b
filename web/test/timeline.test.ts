// Which moment is shown, of a recording and of a simulation that goes on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { History } from "../src/history";
import { decodeFrame, type Frame } from "../src/protocol";
import { Timeline } from "../src/timeline";
import { makeFrame } from "./sample.mjs";

function setup(live: boolean): { timeline: Timeline; history: History; sent: string[]; push(time: number): void } {
    const history = new History(), sent: string[] = [], timeline = new Timeline(history, live ? (command) => sent.push(command) : null);
    const push = (time: number): void => history.push(decodeFrame(makeFrame({ time })) as Frame);
    for (let i = 0; i <= 10; ++i) push(i / 10);
    return { timeline, history, sent, push };
}

test("a recording plays at its speed, in a loop or to its end", () => {
    const { timeline } = setup(false);
    timeline.setPlaying(true);
    timeline.setSpeed(0.5);
    timeline.advance(0.5);
    assert.ok(Math.abs(timeline.now - 0.25) < 1e-12);
    timeline.advance(10);
    assert.deepEqual([timeline.now, timeline.playing], [0, true]);
    timeline.loop = false;
    timeline.advance(10);
    assert.deepEqual([timeline.now, timeline.playing], [1, false]);
    timeline.toggle(); // from the start again
    assert.deepEqual([timeline.now, timeline.playing], [0, true]);
});

test("a recording steps from frame to frame and stays within its ends", () => {
    const { timeline } = setup(false);
    timeline.seek(0.45);
    timeline.step(1);
    assert.equal(timeline.now, 0.5);
    timeline.seek(0.45);
    timeline.step(-1);
    assert.equal(timeline.now, 0.4);
    timeline.step(-1);
    assert.equal(timeline.now, 0.3);
    timeline.step(-100);
    assert.equal(timeline.now, 0);
    timeline.step(100);
    assert.equal(timeline.now, 1);
    timeline.seek(77);
    assert.equal(timeline.now, 1);
});

test("every frame of a recording is met by steps, whatever its times are", () => {
    const history = new History(), timeline = new Timeline(history, null);
    for (let i = 0; i < 200; ++i) history.push(decodeFrame(makeFrame({ time: i * (1 / 60) })) as Frame);
    for (let i = 1; i < 200; ++i) { timeline.step(1); assert.equal(timeline.now, i * (1 / 60)); }
    for (let i = 198; i >= 0; --i) { timeline.step(-1); assert.equal(timeline.now, i * (1 / 60)); }
});

test("a simulation is shown as it is now", () => {
    const { timeline, sent, push } = setup(true);
    timeline.told(true, 2);
    assert.equal(timeline.advance(0.01), true);
    assert.equal(timeline.now, 1);
    push(1.1);
    timeline.advance(0.01);
    assert.deepEqual([timeline.now, timeline.speed, timeline.playing], [1.1, 2, true]);
    timeline.toggle();
    timeline.faster(1);
    assert.deepEqual(sent, ["pause", "speed 5"]);
    timeline.step(3);
    assert.equal(sent.pop(), "step 3");
});

test("looking back pauses a simulation, and going back to now lets it go on", () => {
    const { timeline, sent } = setup(true);
    timeline.told(true);
    timeline.seek(0.33);
    timeline.told(true); // a late word
    timeline.advance(0.5);
    assert.deepEqual([timeline.now, timeline.following, timeline.playing], [0.33, false, false]);
    assert.deepEqual(sent, ["pause"]);
    timeline.toNow();
    timeline.advance(0.01);
    assert.deepEqual([timeline.now, timeline.following, sent.pop()], [1, true, "play"]);
});

test("steps go back through the past of a simulation, forward to now, then on", () => {
    const { timeline, sent } = setup(true);
    timeline.told(true);
    timeline.step(-2);
    assert.deepEqual([timeline.now, timeline.following], [0.8, false]);
    timeline.step(1);
    assert.equal(timeline.now, 0.9);
    timeline.step(1);
    timeline.advance(0.01);
    assert.deepEqual([timeline.now, timeline.following, timeline.playing], [1, true, false]);
    timeline.step(1);
    assert.deepEqual(sent, ["pause", "step 1"]);
});

test("the past of a simulation plays until it is now", () => {
    const { timeline, sent } = setup(true);
    timeline.told(true);
    timeline.seek(0.5);
    timeline.toggle();
    timeline.advance(0.3);
    assert.ok(Math.abs(timeline.now - 0.8) < 1e-12 && timeline.playing);
    timeline.advance(0.3);
    assert.deepEqual([timeline.following, sent.pop()], [true, "play"]);
});

test("a reset shows what comes next", () => {
    const { timeline, sent } = setup(true);
    timeline.seek(0.2);
    timeline.reset();
    assert.deepEqual([timeline.following, sent.pop()], [true, "reset"]);
});
