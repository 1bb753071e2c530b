// browser: the viewer as it is, in a browser: pages that `tenon run --html` wrote, `tenon view` with hands on it, and the playground with the real
// module. Expects the program (TENON=path, build/release/tenon) and build/playground.html (PLAYGROUND=path).
//     node tests/web/browser.mjs [WORDS]
// The last line counts. Pictures of pages whose tests failed are left in build/test/web.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { pictures, runTests, test, text, time, until } from "../../web/test/harness.mjs";
import { bundled, differ, colours } from "./tools.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../.."), folder = mkdtempSync(join(tmpdir(), "tenon-browser-"));
const TENON = resolve(process.env.TENON ?? join(root, "build/release/tenon"));
const PLAYGROUND = pathToFileURL(resolve(process.env.PLAYGROUND ?? join(root, "build/playground.html"))).href;
const SIZE = { width: 900, height: 560 }; // software draws it
const { decodeFrame } = await import(`data:text/javascript;base64,${Buffer.from(await bundled("src/protocol.ts", "esm")).toString("base64")}`);
const tenon = (...words) => execFileSync(TENON, words, { encoding: "utf8" });

// ---- What a page shows -----------------------------------------------------------------------------

const picture = (page) => page.locator("#view").screenshot();
const isShown = async (page) => /\d/.test(await text(page, ".clock"));
const isPlaying = (page) => page.locator("[aria-label=pause]").count();
const fact = (page, name) => page.evaluate((wanted) => [...document.querySelectorAll("#facts dt")].find((dt) => dt.textContent === wanted)?.nextSibling.textContent, name);
const labels = (page) => page.locator("#labels span").allTextContents();

async function pause(page) {
    if (await isPlaying(page)) await page.keyboard.press("Space");
    await page.waitForSelector("[aria-label=play]");
}

async function setKnob(page, label, value) {
    const field = page.locator(`.knob input[type=text][aria-label^='${label}']`);
    await field.fill(String(value));
    await field.press("Enter");
}

/** Where a body or, with `joints`, a joint is in the picture: left of its name, and below. Nothing may move meanwhile. */
async function placeOf(page, name, joints = false) {
    await page.locator("[data-overlay=joints] input").setChecked(joints);
    await page.locator("[data-overlay=names] input").check();
    const label = page.locator("#labels span").filter({ hasText: new RegExp(`^${name}$`) });
    await label.waitFor();
    let box = null;
    await until("the picture stands", async () => {
        const before = box;
        await pictures(page);
        box = await label.boundingBox();
        return before && Math.hypot(before.x - box.x, before.y - box.y) < 0.5;
    });
    await page.locator("[data-overlay=names] input").uncheck();
    return { x: box.x - 9, y: box.y + 20 };
}

// ---- A recording -----------------------------------------------------------------------------------

let robotPage = "";
function recordRobot() {
    if (!robotPage) tenon("run", "@robot", "--duration", "2", "--quiet", "--html", robotPage = join(folder, "robot.html"));
    return pathToFileURL(robotPage).href;
}

test("a recording opens from disk, plays and pauses", async (open) => {
    const page = await open(recordRobot(), SIZE);
    await until("it plays", async () => await time(page) > 0.1);
    assert.equal(await text(page, "#name"), "robot");
    await pause(page);
    const first = await picture(page), stood = await time(page);
    assert.ok(await colours(page, first) > 100, "a picture of a robot has many colours");
    await page.click("[aria-label=play]");
    await until("another time", async () => Math.abs(await time(page) - stood) > 0.3);
    await pause(page);
    assert.ok(await differ(page, first, await picture(page)) > 100, "another picture");
});

test("a recording steps and jumps, by mouse and keyboard", async (open) => {
    const page = await open(`${recordRobot()}#t=0`, SIZE), h = 1 / 60, near = async (t) => Math.abs(await time(page) - t) < 0.0006;
    await until("the start", () => near(0));
    const first = await picture(page);
    await page.click("[aria-label^='step forward']");
    await until("one step", () => near(h));
    await page.keyboard.press("ArrowRight");
    await until("two steps", () => near(2 * h));
    await page.keyboard.press("Shift+ArrowRight");
    await until("twelve", () => near(12 * h));
    await page.click("[aria-label^='step back']");
    await until("eleven", () => near(11 * h));
    const box = await page.locator(".scrub").boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await until("the middle", async () => Math.abs(await time(page) - 1) < 0.05);
    assert.ok(await differ(page, first, await picture(page)) > 100, "another picture");
    await page.keyboard.press("End");
    await until("the end", () => near(2));
    await page.keyboard.press("Home");
    await until("the start again", () => near(0));
    await until("the first picture", async () => await differ(page, first, await picture(page)) === 0);
});

test("what is shown over a recording changes its picture", async (open) => {
    const page = await open(`${recordRobot()}#t=1`, SIZE);
    await until("that moment", async () => await time(page) === 1);
    for (const [key, name] of [["1", "error"], ["2", "forces"], ["6", "joints"], ["7", "shadows"], ["8", "grid"]]) {
        const before = await picture(page);
        await page.keyboard.press(key);
        await until(`${name} in the picture`, async () => await differ(page, before, await picture(page)) > 20);
    }
    assert.deepEqual(await labels(page).then((all) => all.filter((word) => word)), []);
    await page.locator("[data-overlay=names] input").check();
    await until("names", async () => (await labels(page)).includes("head"));
});

test("a recording has plots", async (open) => {
    const page = await open(`${recordRobot()}#t=0`, SIZE);
    await page.waitForSelector(".plot .u-over");
    assert.match(await text(page, "#plots"), /Energy.*Joint error/s);
    await until("lines in colours", async () => await colours(page, await page.locator(".plot").first().screenshot()) > 10);
    const box = await page.locator(".plot .u-over").first().boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await until("the middle", async () => Math.abs(await time(page) - 1) < 0.05);
});

// ---- A live simulation -----------------------------------------------------------------------------

/** `tenon view`; url, and end(): as by ctrl-C. */
async function serve(after, scene, ...options) {
    const process = spawn(TENON, ["view", scene, ...options], { stdio: ["ignore", "pipe", "pipe"] }), said = { out: "", err: "" };
    process.stdout.on("data", (data) => { said.out += data; });
    process.stderr.on("data", (data) => { said.err += data; });
    const gone = new Promise((done) => process.on("close", done));
    const end = async () => { process.kill("SIGINT"); return gone; };
    after(end);
    const url = await until("an address", () => process.exitCode === null ? /http:\S+/.exec(said.out)?.[0] : assert.fail(said.err));
    return { url, port: new URL(url).port, end };
}

/** A page at a live simulation, and what it was told; steps: the number in every frame. */
async function watch(open, { url }, hash = "") {
    const told = { mechanism: null, settings: null, notices: [], bytes: null, steps: [] };
    const hear = ({ payload }) => {
        if (typeof payload !== "string") {
            told.bytes = payload;
            told.steps.push(payload.readDoubleLE(16));
            return;
        }
        const message = JSON.parse(payload);
        if (message.type === "mechanism") { told.mechanism = message; told.settings = message.settings; }
        else if (message.type === "settings") told.settings = { joints: told.settings?.joints, ...message };
        else if (message.type === "notice") told.notices.push(message.text);
    };
    const page = await open(url + hash, SIZE, async (made) => {
        made.on("websocket", (socket) => socket.on("framereceived", hear));
        await made.addInitScript(() => { // its own socket, to say what a page never says
            window.WebSocket = class extends WebSocket { constructor(...words) { super(...words); window.socket = this; } };
        });
    });
    const frame = () => told.bytes && decodeFrame(Uint8Array.from(told.bytes).buffer);
    const body = (name) => told.mechanism.bodies.findIndex((one) => one.name === name), joint = (name) => told.mechanism.joints.findIndex((one) => one.name === name);
    await until("a simulation", async () => frame() && await isShown(page));
    return { page, told, frame, body, joint, place: (name) => [...frame().poses.subarray(7 * body(name), 7 * body(name) + 3)] };
}

/** It goes on: some more time is shown. */
async function goesOn({ page, frame }) {
    const shown = await time(page), { time: simulated } = frame();
    await until("it goes on", async () => frame().time > simulated && await time(page) > shown);
}

/** The handle that a frame has; null: none. */
function handleOf(frame) {
    const h = frame?.handles;
    return h?.length ? { body: h[1], point: [...h.subarray(2, 5)], to: [...h.subarray(5, 8)], force: Math.hypot(...h.subarray(8, 11)) } : null;
}
const distance = (a, b) => Math.hypot(...a.map((x, i) => x - b[i]));

/** Takes a body of what is paused, then lets time go on. Where it was taken. */
async function take(page, name) {
    const at = await placeOf(page, name);
    await page.mouse.move(at.x, at.y);
    await page.mouse.down();
    await page.keyboard.press("Space");
    return at;
}

test("a hand that is dragged comes along, and its force is shown", async (open, after) => {
    const seen = await watch(open, await serve(after, "@robot", "--paused")), { page, frame, body } = seen;
    const at = await take(page, "right_hand");
    await until("a handle at the hand", () => handleOf(frame())?.body === body("right_hand"));
    const drags = [[-60, -50], [50, 40]].map(([dx, dy]) => ({ x: at.x + dx, y: at.y + dy })), ends = [];
    for (const { x, y } of drags) {
        const start = handleOf(frame());
        await page.mouse.move(x, y); // at once: what is drawn elsewhere then is where it ends
        await until("it is drawn elsewhere", () => distance(handleOf(frame()).to, start.to) > 0.05);
        const far = distance(start.point, handleOf(frame()).to);
        await until("the hand comes near", () => distance(handleOf(frame()).point, handleOf(frame()).to) < 0.5 * far);
        ends.push(seen.place("right_hand"));
    }
    assert.ok(distance(...ends) > 0.05, "two ends, two places");
    assert.ok(handleOf(frame()).force > 0);
    await until("newtons", async () => (await labels(page)).some((word) => /^[\d.]+ k?N$/.test(word)));
    await page.mouse.up();
    await until("it is let go", () => handleOf(frame()) === null);
    await until("no newtons", async () => (await labels(page)).every((word) => !word));
});

test("gravity is changed by its slider", async (open, after) => {
    const seen = await watch(open, await serve(after, "@pendulum:n=2")), { page, frame } = seen, height = () => frame().poses[7 + 2];
    await until("it falls", () => height() < -0.02);
    await setKnob(page, "gravity z", 0);
    await until("nothing pulls", () => frame().gravity === 0);
    const box = await page.locator(".knob input[type=range][aria-label='gravity z']").boundingBox();
    await page.mouse.click(box.x + box.width - 2, box.y + box.height / 2);
    await until("it falls up", () => height() > 0.02 && seen.told.settings.gravity[2] > 10);
});

test("another method, another step and a reset while it runs", async (open, after) => {
    const seen = await watch(open, await serve(after, "@fourbar", "--method", "multiplier")), { page, told } = seen;
    assert.equal(await fact(page, "method"), "multiplier");
    await page.selectOption("#edit select", "impulse");
    await until("the method", async () => await fact(page, "method") === "impulse" && told.settings.method === "impulse");
    await goesOn(seen);
    await setKnob(page, "step h", 0.01);
    await until("the step", async () => told.settings.h === 0.01 && await fact(page, "step h") === "10 ms");
    await goesOn(seen);
    const { length } = told.steps;
    await page.keyboard.press("r");
    await until("the start", () => told.steps.slice(length).some((step, i) => step < told.steps[length + i - 1])); // it plays on from there
    assert.equal(told.settings.method, "impulse", "edits stay");
});

test("a joint that is selected has stiffness and a target", async (open, after) => {
    const seen = await watch(open, await serve(after, "@chain:n=2,joint=hinge,damping=0.02", "--method", "implicit")), { page, told } = seen;
    await pause(page);
    const at = await placeOf(page, "j2", true);
    await page.mouse.click(at.x, at.y);
    await until("it is selected", async () => await page.isVisible("#selected") && /^j2/.test(await text(page, "#selected h2")));
    await setKnob(page, "gravity z", 0);
    await setKnob(page, "stiffness", 0.5);
    await setKnob(page, "target", 1);
    await until("the simulation has them", () => { const j = told.settings.joints[seen.joint("j2")]; return j.stiffness === 0.5 && j.rest[0] === 1; });
    await page.locator("#view").focus();
    await page.keyboard.press("Space");
    await until("it goes there", async () => /coordinate (1\.0[01]|0\.99)/.test(await text(page, "#selected .numbers")));
    await page.click("#selected .buttons >> text=coordinate");
    await until("a plot of it", async () => /j2/.test(await text(page, "#plots")));
});

test("active joints of an adaptive simulation are as many as asked for", async (open, after) => {
    const { page, frame } = await watch(open, await serve(after, "@spring_pendulum")), slider = page.locator(".knob input[type=range][aria-label='active joints']");
    await until("a count", async () => /^\d+ of 50$/.test(await fact(page, "active") ?? ""));
    await setKnob(page, "active joints", 7);
    await until("seven", async () => frame().activeCount === 7 && await fact(page, "active") === "7 of 50");
    const box = await slider.boundingBox();
    await page.mouse.click(box.x + box.width - 2, box.y + box.height / 2);
    await until("many", async () => frame().activeCount > 40 && /^[45]\d of 50$/.test(await fact(page, "active")));
});

test("a page that is loaded again sees the same simulation", async (open, after) => {
    const seen = await watch(open, await serve(after, "@robot")), { page, frame } = seen;
    await setKnob(page, "gravity z", -3);
    await until("the moon or so", () => seen.told.settings.gravity[2] === -3);
    const { time: before } = frame();
    await page.reload();
    await until("it moves", async () => await time(page) > before);
    assert.equal(await page.locator(".knob input[type=text][aria-label^='gravity z']").inputValue(), "-3");
});

test("two pages see one simulation; what one drags the other sees; one that goes lets go", async (open, after) => {
    const server = await serve(after, "@robot", "--paused"), one = await watch(open, server), other = await watch(open, server);
    await take(one.page, "right_hand");
    await until("both see the hand taken", () => [one, other].every((seen) => handleOf(seen.frame())?.body === seen.body("right_hand")));
    await goesOn(other);
    await one.page.close();
    await until("it is let go", () => handleOf(other.frame()) === null);
    await goesOn(other);
});

test("what is no command is answered, and the simulation goes on", async (open, after) => {
    const seen = await watch(open, await serve(after, "@robot")), { page, told } = seen;
    for (const [line, words] of [["frobnicate", /frobnicate/], ["grab 0 999 0 0 0", /grab/], ["set h NaN", /h/], ["gravity 1 2", /gravity/]]) {
        const { length } = told.notices;
        await page.evaluate((word) => window.socket.send(word), line);
        await until("an answer", () => told.notices.length > length);
        assert.match(told.notices.at(-1), words);
        await until("a toast", async () => (await text(page, "#toasts")).includes(told.notices.at(-1)));
    }
    await goesOn(seen);
    await page.evaluate(() => new Promise((done) => { // no text at all: it is shown the door, and comes back
        window.socket.addEventListener("close", () => done());
        window.socket.send(Uint8Array.of(1, 2, 3));
    }));
    await goesOn(seen);
    await until("live", async () => await text(page, "#status") === "live");
});

test("a server that ends is missed, and found again", async (open, after) => {
    const server = await serve(after, "@robot"), seen = await watch(open, server), { page } = seen;
    assert.equal(await server.end(), 0);
    await until("it is gone", async () => /the simulation is gone/.test(await text(page, "#status")));
    const again = await serve(after, "@fourbar", "--port", server.port);
    assert.equal(again.port, server.port);
    await until("another one is live", async () => await text(page, "#status") === "live" && await text(page, "#name") === "fourbar");
    await goesOn(seen);
});

// ---- The playground --------------------------------------------------------------------------------

const about = (page) => text(page, "#about");
const openEditor = (page) => page.click("#scenes .tabs >> text=Editor");

test("the playground has every scene, and opens them with parameters", async (open) => {
    const page = await open(PLAYGROUND, SIZE), names = tenon("scene", "--list").match(/^\w+/gm);
    await until("it moves", async () => await time(page) > 0);
    assert.deepEqual(await page.locator(".card b").allTextContents(), names);
    assert.ok(await colours(page, await picture(page)) > 100, "a picture");
    await page.locator(".card").filter({ hasText: /^chain/ }).locator("> button").click();
    await until("a chain", async () => await about(page) === "10 bodies, 10 joints");
    await page.locator(".card.here label").filter({ hasText: /^n$/ }).locator("input").fill("4");
    await page.keyboard.press("Enter");
    await until("a short one", async () => await about(page) === "4 bodies, 4 joints");
    await page.locator(".card.here label").filter({ hasText: /^joint/ }).locator("select").selectOption("hinge");
    await until("of hinges", async () => await fact(page, "mobility") === "4");
    await until("it moves", async () => await time(page) > 0.2 && await isPlaying(page));
});

test("a scene that is too large for the playground can be left for another one", async (open) => {
    const page = await open(PLAYGROUND, SIZE), goTo = (hash) => page.evaluate((to) => { location.hash = to; }, hash);
    await until("it moves", async () => await time(page) > 0);
    await goTo("s=@chain:n=3000000");
    await until("it is opened", async () => await text(page, "#status") === "opening");
    await goTo("s=@fourbar");
    await until("another one moves", async () => await text(page, "#name") === "fourbar" && await time(page) > 0 && await isPlaying(page));
    assert.equal(await text(page, "#status"), "in this page");
});

test("the playground's hand comes along, too", async (open) => {
    const page = await open(PLAYGROUND, SIZE, (made) => made.emulateMedia({ reducedMotion: "reduce" })); // so it begins paused
    await until("it is there", () => isShown(page));
    const at = await placeOf(page, "right_hand"), numbers = async () => (await text(page, "#selected .numbers")).match(/-?\d+\.\d+/g)?.map(Number);
    await page.mouse.click(at.x, at.y);
    await until("it is selected", async () => await page.isVisible("#selected") && /^right_hand/.test(await text(page, "#selected h2")));
    const start = await until("its place", numbers); // of the next picture
    await take(page, "right_hand");
    await page.mouse.move(at.x - 60, at.y - 50, { steps: 4 });
    await until("newtons", async () => (await labels(page)).some((word) => /^[\d.]+ k?N$/.test(word)));
    await until("it comes along", async () => distance(start, await numbers()) > 0.1);
    await page.mouse.up();
});

test("a mistake in the playground's text is told as the program tells it", async (open) => {
    const page = await open(PLAYGROUND, SIZE), bad = `{\n  "tenon_scene": 1,\n  "bodies": [{"name": "rod", "mass": 1,\n    "inertai": [1, 1, 1]}]\n}\n`, file = join(folder, "bad.json");
    writeFileSync(file, bad);
    const told = spawnSync(TENON, ["run", file], { encoding: "utf8" }), [, line, column, words] = /:(\d+):(\d+): (.*)\n$/.exec(told.stderr);
    assert.equal(told.status, 2);
    await openEditor(page);
    await until("a text", async () => (await page.inputValue("textarea")).includes(`"robot"`));
    await page.fill("textarea", bad);
    await page.press("textarea", "Control+Enter");
    await until("the same words", async () => await text(page, ".problem") === `line ${line}, column ${column}: ${words}`);
    assert.equal((await text(page, ".gutter mark")).trim(), line);
    assert.equal(await page.evaluate(() => document.querySelector("textarea").selectionStart), bad.split("\n").slice(0, line - 1).join("\n").length + Number(column));
    assert.equal(await text(page, "#name"), "robot", "what was there stays");
});

test("what is written in the playground runs, and a link has all of it", async (open) => {
    const page = await open(PLAYGROUND, SIZE), good = tenon("scene", "fourbar").replace(`"name": "fourbar"`, `"name": "mine"`);
    await openEditor(page);
    await until("a text", async () => (await page.inputValue("textarea")).includes(`"robot"`));
    await page.fill("textarea", good);
    await page.click("text=Run");
    await until("it runs", async () => await text(page, "#name") === "mine" && await time(page) > 0);
    await page.click("text=Copy link");
    await until("a link", () => page.url().includes("#scene="));
    const link = page.url(), counts = await about(page);
    await page.close();
    const other = await open(link, SIZE);
    await until("the same there", async () => await text(other, "#name") === "mine" && await time(other) > 0);
    assert.equal(await other.inputValue("textarea"), good);
    assert.equal(await about(other), counts);
});

test("the playground's module has the program's bits", async (open) => {
    const page = await open(`${PLAYGROUND}#s=@fourbar`, SIZE), { hash, steps } = JSON.parse(tenon("run", "@robot", "--duration", "1", "--quiet", "--report", "-"));
    await page.addScriptTag({ content: await bundled("wasm/player.ts", "iife", "tenon") });
    const found = await page.evaluate(async (count) => {
        const wasm = Uint8Array.from(atob(document.getElementById("tenon-wasm").textContent.trim()), (letter) => letter.charCodeAt(0));
        const player = new window.tenon.Player(await WebAssembly.compile(wasm));
        for (const command of ["scene @robot", `step ${count}`]) player.command(command);
        while (player.wait() === 0) player.advance(1);
        return player.hash();
    }, steps);
    assert.equal(found, hash);
});

const failed = await runTests(join(root, "build/test/web"));
rmSync(folder, { recursive: true });
process.exit(failed);
