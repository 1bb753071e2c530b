// The page in a browser: node test/page.mjs [WORDS]. Needs chromium (or CHROMIUM=path). Recordings, simulations and the worker are the
// made-up ones of this folder. The last line counts.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makePage, makePlayground, SLOT } from "../build.mjs";
import { FakeStage } from "./fake_stage.mjs";
import { pictures, runTests, test, text, time, until } from "./harness.mjs";
import { makeTape } from "./sample.mjs";
import { serve } from "./server.mjs";

const folder = mkdtempSync(join(tmpdir(), "tenon-page-")), page = await makePage();
const withData = (data) => page.replace(SLOT, () => JSON.stringify(data));
let files = 0;
function fileOf(text) {
    const path = join(folder, `${++files}.html`);
    writeFileSync(path, text);
    return `file://${path}`;
}

/** A page at a live stage; `stage` is the newest connection's. */
async function live(open, options = {}) {
    const world = { stage: null, connections: 0 };
    const connected = (client) => {
        const stage = world.stage = new FakeStage((data) => client.send(data), options);
        ++world.connections;
        client.onmessage = (line) => stage.command(line);
        client.onclose = () => stage.close();
    };
    world.server = await serve(withData({ source: "live" }), connected);
    world.page = await open(world.server.url);
    await until("frames", async () => await time(world.page) > 0.1);
    world.restart = async () => { await world.server.close(); world.server = await serve(withData({ source: "live" }), connected, world.server.port); };
    return world;
}

test("a page without data says what it is", async (open) => {
    const p = await open(fileOf(page));
    assert.match(await text(p, "#welcome"), /nothing to show yet/);
});

test("a page with broken data says so", async (open) => {
    const p = await open(fileOf(page.replace(SLOT, () => `{"source": "tape", `)));
    assert.match(await text(p, "#welcome"), /cannot be shown/);
}, /JSON/);

test("a recording plays, stops, steps and jumps by keys", async (open) => {
    const p = await open(fileOf(withData(makeTape())));
    assert.equal(await text(p, "#name"), "swinging chain");
    await until("it moves", async () => await time(p) > 0.2);
    await p.keyboard.press("Space");
    await p.waitForSelector("[aria-label=play]");
    const stood = await time(p);
    await pictures(p, 10);
    assert.equal(await time(p), stood, "it stands");
    await p.keyboard.press("Home");
    await p.keyboard.press("ArrowRight");
    await until("a step", async () => await time(p) === 0.02);
    await p.keyboard.press("Shift+ArrowRight");
    await until("ten steps", async () => await time(p) === 0.22);
    await p.keyboard.press("ArrowLeft");
    await until("one back", async () => await time(p) === 0.2);
    await p.keyboard.press("End");
    await until("the end", async () => await time(p) === 7.98 && await text(p, ".steps") === "step 798");
});

test("a link chooses the moment, the overlays and the theme", async (open) => {
    const p = await open(fileOf(withData(makeTape())) + "#t=1.5&overlays=error&theme=dark&bare");
    await until("that moment", async () => await time(p) === 1.5);
    assert.equal(await p.evaluate(() => document.documentElement.dataset.theme), "dark");
    assert.deepEqual(await p.evaluate(() => ["error", "forces"].map((name) => document.querySelector(`[data-overlay=${name}] input`).checked)), [true, false]);
    assert.deepEqual(await p.evaluate(() => { const box = document.getElementById("view").getBoundingClientRect(); return [box.width, box.height]; }), [1280, 800]);
});

test("a damaged recording shows what is whole", async (open) => {
    const tape = makeTape({ frames: 10 });
    const p = await open(fileOf(withData({ ...tape, frames: tape.frames.slice(0, 2000) })) + "#t=0");
    await until("a notice", async () => /damaged after frame/.test(await text(p, "#toasts")));
});

test("what a recording does not have cannot be shown", async (open) => {
    const p = await open(fileOf(withData({ ...makeTape({ parts: 1 }), stopped: { type: "stopped", step: 3, time: 1, joint: "pin2", text: "joint 'pin2' jams" }, note: "One step in 2 is shown." })));
    await until("it moves", async () => await time(p) > 0);
    assert.deepEqual(await p.evaluate(() => ["error", "forces", "contacts"].map((name) => document.querySelector(`[data-overlay=${name}] input`).disabled)), [false, true, true]);
    assert.match(await text(p, "#banner"), /Stopped at 1.000 s: joint 'pin2' jams/);
    assert.equal(await text(p, "#note"), "One step in 2 is shown.");
});

test("a click on a plot goes there", async (open) => {
    const p = await open(fileOf(withData(makeTape())) + "#t=0");
    await p.waitForSelector(".plot .u-over");
    const box = await p.locator(".plot .u-over").first().boundingBox();
    await p.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await until("the middle", async () => Math.abs(await time(p) - 3.99) < 0.05);
    await p.fill("input[list]", "pin2: force");
    await until("one more plot", async () => (await p.locator(".plot").count()) === 4 && /Joint forces/.test(await text(p, ".plot:last-child")));
});

test("a simulation is asked only for what is looked at", async (open) => {
    const { stage, page: p } = await live(open);
    assert.deepEqual(stage.commands, ["show 0"]);
    await p.keyboard.press("2");
    await until("forces", () => stage.commands.includes("show 2"));
    await p.fill("input[list]", "pin1: coordinate");
    await until("and coordinates", () => stage.commands.includes("show 6"));
    await p.click(".keys button");
    await until("no more", () => stage.commands.at(-1) === "show 2");
});

test("sliders send few commands and the last value; what is refused goes back", async (open) => {
    const { stage, page: p } = await live(open), slider = p.locator(".knob input[type=range][aria-label='step h']");
    await slider.evaluate((node) => {
        for (let i = 0; i <= 40; ++i) { node.value = String(0.5 + i / 200); node.dispatchEvent(new Event("input")); }
        node.dispatchEvent(new Event("change"));
    });
    await until("the last value", () => stage.settings.h === Number((1e-4 * 1000 ** 0.7).toPrecision(3)));
    assert.ok(stage.commands.filter((line) => line.startsWith("set h")).length <= 3);
    const h = stage.settings.h, number = p.locator(".knob input[aria-label='step h s']");
    await number.fill("0.09");
    await number.press("Enter");
    await until("a toast", async () => /at most 0.05/.test(await text(p, "#toasts")));
    await until("back", async () => Number(await number.inputValue()) === Number(h.toPrecision(4)));
    await p.selectOption("#edit select", "impulse");
    await until("another toast", async () => /impulse method does not/.test(await text(p, "#toasts")));
    assert.equal(await p.inputValue("#edit select"), "implicit");
});

test("method, gravity and any setting can be changed", async (open) => {
    const { stage, page: p } = await live(open);
    await p.selectOption("#edit select", "adaptive");
    await until("another method", () => stage.settings.method === "adaptive");
    await until("active joints are shown", () => stage.commands.includes("show 8"));
    await until("the eye", () => stage.commands.some((line) => /^camera [-\d.e]+ [-\d.e]+ [-\d.e]+$/.test(line)));
    const gravity = p.locator(".knob input[aria-label^='gravity z m']");
    await gravity.fill("-1.62");
    await gravity.press("Enter");
    await until("the moon", () => stage.commands.includes("gravity 0 0 -1.62"));
    await p.click("summary");
    await p.fill("#edit input[type=search]", "impl tol");
    assert.equal(await p.locator(".all-settings label:visible").count(), 1);
    await p.fill(".all-settings label:visible input", "1e-6");
    await p.locator(".all-settings label:visible input").press("Enter");
    await until("a setting", () => stage.settings.values["implicit.tolerance"] === "1e-6");
});

test("looking back pauses a simulation; back to now goes on", async (open) => {
    const { stage, page: p } = await live(open);
    await p.locator(".scrub").evaluate((node) => { node.value = "0.5"; node.dispatchEvent(new Event("input")); });
    await until("paused", () => !stage.settings.playing);
    await p.waitForSelector("text=back to now");
    const stood = await time(p);
    await pictures(p, 10);
    assert.equal(await time(p), stood);
    assert.ok(stood < stage.time);
    await p.click("text=back to now");
    await until("it goes on", async () => stage.settings.playing && await time(p) > stood);
    await p.keyboard.press("Space");
    await until("paused again, and the last frame there", async () => !stage.settings.playing && await text(p, ".pace") === "paused" && Math.abs(await time(p) - stage.time) < 6e-4);
    await p.keyboard.press("ArrowLeft");
    await p.keyboard.press("ArrowRight");
    await p.keyboard.press("ArrowRight");
    await until("a step of the simulation", () => stage.commands.at(-1) === "step 1");
    await p.keyboard.press("r");
    await until("the start", async () => await time(p) === 0);
});

test("a slow simulation is said to be slow", async (open) => {
    const { stage, page: p } = await live(open, { realTime: 0.2, stepSeconds: 0.08 });
    await until("a warning", async () => await text(p, ".pace.slow") === "slow: 0.20\u00d7 real time; a step takes 80 ms");
    stage.realTime = 1;
    await until("it goes away", async () => await text(p, ".pace:not(.slow)") === "1.00\u00d7 real time");
    clearInterval(stage.timer); // a step that takes very long
    await until("no frame comes", async () => /^slow: a step takes more than \d/.test(await text(p, ".pace.slow")));
    stage.advance(1);
    await until("it goes away again", async () => await text(p, ".pace:not(.slow)") === "1.00\u00d7 real time");
});

test("a simulation that cannot go on says why, and can be reset", async (open) => {
    const { stage, page: p } = await live(open);
    stage.settings.playing = false;
    stage.send(JSON.stringify({ type: "stopped", step: 3, time: 0.03, joint: "pin1", text: "the joint is torn" }));
    await until("why", async () => /joint 'pin1': the joint is torn/.test(await text(p, "#banner")));
    await p.click("#banner button");
    await until("a reset", () => stage.commands.includes("reset"));
    await until("no banner", async () => !await p.isVisible("#banner"));
});

test("a page finds its simulation again", async (open) => {
    const world = await live(open), p = world.page;
    await p.keyboard.press("1");
    await world.server.close();
    await until("it is lost", async () => /trying again/.test(await text(p, "#status")));
    await world.restart();
    await until("it is live", async () => await text(p, "#status") === "live");
    assert.equal(world.connections, 2);
    await until("it knows what is looked at", () => world.stage.commands.includes("show 1"));
    await until("it moves", async () => Math.abs(await time(p) - world.stage.time) < 0.3);
    await p.reload();
    await until("a third time", async () => world.connections === 3 && await time(p) > 0);
    await world.server.close();
});

function pngSize(bytes) {
    assert.equal(bytes.subarray(1, 4).toString(), "PNG");
    return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
}
let nexts = 0; // pictures of a strip, as they were told
async function render(open, order) {
    nexts = 0;
    const got = [];
    const server = await serve(withData({ ...makeTape({ frames: 50 }), render: { width: 64, height: 48, times: [0, 0.3, 0.6], strip: false, from: null, overlays: [], theme: "light", trails: ["pin3"], ...order } }),
        (client, path) => { if (path === "/render") client.onmessage = (message) => message === "next" ? ++nexts : got.push(message); });
    const p = await open(server.url);
    await until("it is done", () => typeof got.at(-1) === "string");
    assert.equal(await p.evaluate(() => document.documentElement.dataset.render), got.at(-1));
    await server.close();
    return got;
}

test("pictures are made in order and of their size", async (open) => {
    const got = await render(open, {});
    assert.equal(got.at(-1), "done");
    assert.deepEqual(got.slice(0, -1).map(pngSize), [[64, 48], [64, 48], [64, 48]]);
    assert.notDeepEqual(got[0], got[1]);
});

test("a strip is one picture, and what cannot be made is an error", async (open) => {
    const got = await render(open, { strip: true });
    assert.equal(nexts, 3);
    assert.deepEqual([got.length, got[1], pngSize(got[0])], [2, "done", [192, 48]]);
    const apart = (await render(open, {})).slice(0, 3), p = await open("about:blank");
    const same = await p.evaluate(async ([strip, ...pictures]) => {
        const pixels = async (base64, x) => {
            const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${base64}`)).blob()), ink = new OffscreenCanvas(64, 48).getContext("2d");
            ink.drawImage(image, -x, 0);
            return ink.getImageData(0, 0, 64, 48).data.join();
        };
        return Promise.all(pictures.map(async (picture, i) => await pixels(picture, 0) === await pixels(strip, 64 * i)));
    }, [got[0], ...apart].map((bytes) => bytes.toString("base64")));
    assert.deepEqual(same, [true, true, true]);
    assert.deepEqual(await render(open, { width: 40000 }), ["error: a picture has sides of 1 to 8192 pixels"]);
    assert.deepEqual(await render(open, { strip: true, width: 8000, times: [0, 1, 2, 3, 4] }), ["error: a strip is at most 32767 pixels wide"]);
    assert.deepEqual(await render(open, { times: [] }), ["done"]);
});

const playground = await makePlayground(Uint8Array.of(1, 2, 3), "test/fake_worker.mjs");

test("the playground opens scenes with their parameters, from a file", async (open) => {
    const p = await open(fileOf(playground));
    await until("it moves", async () => await time(p) > 0);
    assert.match(await text(p, ".card.here"), /robot/);
    await p.click("text=a chain that hangs");
    await until("the chain", async () => (await text(p, "#about")) === "3 bodies, 3 joints");
    await p.locator(".card.here input").fill("7");
    await p.locator(".card.here input").press("Enter");
    await until("a longer one", async () => (await text(p, "#about")) === "7 bodies, 7 joints");
    await p.click("#scenes .tabs >> text=Editor");
    await until("its text", async () => /@chain:n=7/.test(await p.inputValue("textarea")));
});

test("a mistake in a scene is marked where it is", async (open) => {
    const p = await open(fileOf(playground));
    await p.click("#scenes .tabs >> text=Editor");
    await until("a text", async () => (await p.inputValue("textarea")).length > 0);
    await p.fill("textarea", `{\n  "tenon_scene": 1,\n  "bodeis": []\n}`);
    await p.press("textarea", "Control+Enter");
    await until("words", async () => (await text(p, ".problem")) === "line 3, column 4: unknown key 'bodeis': did you mean 'bodies'?");
    assert.equal((await text(p, ".gutter mark")).trim(), "3");
    assert.equal(await p.evaluate(() => document.querySelector("textarea").selectionStart), 25);
    await p.fill("textarea", "{}");
    await p.click("text=Run");
    await until("it runs", async () => (await text(p, "#about")) === "2 bodies, 2 joints");
    assert.equal(await text(p, ".problem"), "");
    await p.fill("textarea", `{"name": "shared"}`);
    await p.click("text=Run");
    await p.click("text=Copy link");
    await until("a link", async () => /#scene=/.test(p.url()));
    const other = await open(p.url());
    await until("the same text", async () => (await other.inputValue("textarea")) === `{"name": "shared"}`);
});

test("links to scenes open them; a broken one is told", async (open) => {
    const p = await open(fileOf(playground) + "#s=@chain:n=4");
    await until("the chain", async () => (await text(p, "#about")) === "4 bodies, 4 joints");
    const bad = await open(fileOf(playground) + "#scene=AAAA");
    await until("a toast", async () => /cannot be read/.test(await text(bad, "#toasts")));
    await until("something to see", async () => await time(bad) > 0);
});

test("a module that does not start is told", async (open) => {
    const p = await open(fileOf(await makePlayground(Uint8Array.of(1), "test/fake_worker.mjs")));
    await until("why", async () => /module is broken/.test(await text(p, "#toasts")));
});

async function fitsPhone(p, tabs) {
    await until("it moves", async () => await time(p) > 0);
    for (const tab of tabs) {
        if (tab !== tabs[0]) await p.click(`#tabs >> text=${tab}`);
        const found = await p.evaluate(() => ({
            wide: document.documentElement.scrollWidth > innerWidth, view: document.getElementById("stage").clientHeight / innerHeight,
            small: [...document.querySelectorAll("button, select, input:not([type=checkbox]), .checks label")].filter((node) => node.checkVisibility() && node.getBoundingClientRect().height < 40).map((node) => node.outerHTML.slice(0, 80)),
        }));
        assert.ok(!found.wide && found.view >= 0.5, `${tab}: ${JSON.stringify(found)}`);
        assert.deepEqual(found.small, [], tab);
    }
}

test("on a phone nothing is too small, too wide, or hides the view", async (open) => {
    const phone = { width: 390, height: 844 };
    await fitsPhone(await open(fileOf(playground), phone), ["Scenes", "Show", "Edit", "Plots"]);
    await fitsPhone(await open(fileOf(withData(makeTape())), phone), ["Show", "Plots"]);
    const { page: p, server } = await live((url) => open(url, phone));
    await fitsPhone(p, ["Show", "Edit", "Plots"]);
    await p.locator(".scrub").evaluate((node) => { node.value = "0.5"; node.dispatchEvent(new Event("input")); });
    await p.waitForSelector("text=back to now");
    await fitsPhone(p, ["Plots"]);
    await server.close();
});

test("help opens and closes by keys, the theme is remembered", async (open) => {
    const { page: p, server } = await live(open);
    await p.keyboard.press("?");
    assert.ok(await p.isVisible("dialog"));
    assert.match(await text(p, "dialog"), /play, pause/);
    await p.keyboard.press("Escape");
    assert.ok(!await p.isVisible("dialog"));
    const theme = () => p.evaluate(() => document.documentElement.dataset.theme), before = await theme();
    await p.keyboard.press("t");
    assert.notEqual(await theme(), before);
    await p.reload();
    assert.notEqual(await theme(), before);
    await server.close();
});

const failed = await runTests();
rmSync(folder, { recursive: true });
process.exit(failed);
