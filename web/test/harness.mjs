// harness: tests that share one browser. Each gets pages of its own by `open`; an error within a page, or a request that leaves this
// machine, fails the test. Needs chromium (or CHROMIUM=path).
import assert from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const ARGUMENTS = ["--no-sandbox", "--no-first-run", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--use-angle=swiftshader", "--enable-unsafe-swiftshader"];
const PATIENCE = Number(process.env.PATIENCE ?? 120000); // [ms]; what has not come by then never does

const tests = [];

/** body(open, after): open(url, viewport, prepare) is a new page; after(act) is done when the test ends. allowed: an error that belongs to it. */
export function test(name, body, allowed = /^WebSocket connection to/) {
    if (!process.argv[2] || name.includes(process.argv[2])) tests.push({ name, body, allowed });
}

/** Waits for something to be so: no time is promised, so none is measured. What `check` answers, once it is something. */
export async function until(what, check) {
    for (const end = Date.now() + PATIENCE; Date.now() < end;) {
        const found = await check();
        if (found) return found;
        await new Promise((done) => setTimeout(done, 25));
    }
    assert.fail(`never: ${what}`);
}

export const text = (page, selector) => page.textContent(selector);
/** The page's clock [s]. */
export const time = async (page) => parseFloat(await text(page, ".clock"));

/** The page has drawn so many pictures more, whatever time that takes: what was to change by itself has changed. */
export const pictures = (page, count = 2) => page.evaluate((n) => new Promise((done) => {
    const next = () => { if (n-- > 0) requestAnimationFrame(next); else done(); };
    next();
}), count);

/** What a page does wrong is told. */
function listen(page, wrong) {
    page.on("pageerror", (error) => wrong(error.message));
    page.on("console", (message) => { if (message.type() === "error") wrong(message.text()); });
    page.on("request", (request) => { if (!/^(file|data|blob|about):|^http:\/\/127\.0\.0\.1[:/]/.test(request.url())) wrong(`a request to ${request.url()}`); });
}

/** Names of files that a failed test leaves. */
const fileName = (name, i) => `${name.replace(/[^a-z0-9]+/gi, "_")}_${i}.png`;

async function runOne(browser, { name, body, allowed }, folder) {
    const errors = [], pages = [], ends = [];
    const open = async (url, viewport = { width: 1280, height: 800 }, prepare = async () => {}) => {
        const context = await browser.newContext({ viewport, deviceScaleFactor: 1 }), page = await context.newPage();
        pages.push(page);
        page.setDefaultTimeout(PATIENCE);
        listen(page, (error) => { if (!allowed.test(error)) errors.push(error); });
        await prepare(page);
        await page.goto(url);
        return page;
    };
    let bad = null;
    try {
        await body(open, (act) => ends.push(act));
        assert.deepEqual(errors, [], "errors in the page");
    } catch (error) {
        bad = errors.length ? `${error.stack}\nthe page said:\n${errors.join("\n")}` : error.stack;
        if (folder) {
            mkdirSync(folder, { recursive: true });
            for (const [i, page] of pages.entries()) await page.screenshot({ path: join(folder, fileName(name, i)), timeout: 5000 }).catch(() => {});
        }
    }
    for (const page of pages) await page.context().close();
    for (const act of ends.reverse()) await act();
    return bad;
}

/** Runs all tests; the last line counts. folder: where pictures of pages go whose tests failed. The exit code. */
export async function runTests(folder = null) {
    const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ARGUMENTS, timeout: PATIENCE });
    let passed = 0, failed = 0;
    if (folder) rmSync(folder, { recursive: true, force: true }); // of last time
    for (const one of tests) {
        const begun = Date.now(), bad = await runOne(browser, one, folder);
        if (bad) ++failed; else ++passed;
        console.log(bad ? `FAILED ${one.name}\n${bad}` : `passed ${one.name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
    }
    await browser.close();
    console.log(`${passed} passed, ${failed} failed`);
    return failed || !passed ? 1 : 0;
}
