// A picture of the whole page, with its panels: node shot.mjs ADDRESS OUT.png WIDTHxHEIGHT. Needs chromium (or CHROMIUM=path).
import { chromium } from "playwright-core";

const [address, out, size] = process.argv.slice(2), [width, height] = (size ?? "").split("x").map(Number);
if (!width || !height) {
    console.error("usage: node shot.mjs ADDRESS OUT.png WIDTHxHEIGHT");
    process.exit(2);
}
const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic"],
});
try {
    const page = await browser.newPage({ viewport: { width, height }, hasTouch: width < 600, reducedMotion: "reduce" });
    page.on("pageerror", (error) => { console.error(String(error)); process.exitCode = 1; });
    await page.goto(address);
    await page.waitForFunction(() => !document.body.classList.contains("empty"));
    await page.waitForTimeout(1500); // plots are drawn a little later
    await page.screenshot({ path: out });
} finally {
    await browser.close();
}
