// tools: pictures compared, in the page that made them, and the page's own modules for tests.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const web = fileURLToPath(new URL("../../web/", import.meta.url)), { build } = createRequire(`${web}package.json`)("esbuild");

/** A module of the page as a script: format "esm", or "iife" with a name that has its exports. */
export async function bundled(entry, format, globalName) {
    const { outputFiles } = await build({ entryPoints: [web + entry], bundle: true, write: false, format, globalName, target: "es2022", logLevel: "warning" });
    return outputFiles[0].text;
}

/** Pixels of PNG files, as numbers of 32 bits, to a function that runs in the page. */
const withPixels = (page, pictures, work) => page.evaluate(`(async (pictures, work) => work(...await Promise.all(pictures.map(async (picture) => {
    const bytes = Uint8Array.from(atob(picture), (letter) => letter.charCodeAt(0)), image = await createImageBitmap(new Blob([bytes]));
    const ink = new OffscreenCanvas(image.width, image.height).getContext("2d");
    ink.drawImage(image, 0, 0);
    return new Uint32Array(ink.getImageData(0, 0, image.width, image.height).data.buffer);
}))))(${JSON.stringify(pictures.map((bytes) => bytes.toString("base64")))}, ${work})`);

export const colours = (page, picture) => withPixels(page, [picture], (pixels) => new Set(pixels).size);
/** How many pixels of two pictures differ. */
export const differ = (page, a, b) => withPixels(page, [a, b], (one, other) => one.length === other.length ? one.reduce((sum, pixel, i) => sum + Number(pixel !== other[i]), 0) : Infinity);
