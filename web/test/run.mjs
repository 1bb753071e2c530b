// Runs the unit tests: node test/run.mjs [WORDS]. Each test/*.test.ts is bundled and run by node's own runner; the last line counts.
import { build } from "esbuild";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { run } from "node:test";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url)), out = mkdtempSync(join(tmpdir(), "tenon-web-"));
const names = readdirSync(here).filter((name) => name.endsWith(".test.ts") && (!process.argv[2] || name.includes(process.argv[2])));
await build({ entryPoints: names.map((name) => join(here, name)), bundle: true, outdir: out, outExtension: { ".js": ".mjs" }, format: "esm", platform: "node", target: "node18", sourcemap: "inline", logLevel: "warning" });

let passed = 0, failed = 0;
const files = names.map((name) => join(out, basename(name, ".ts") + ".mjs")), ofFile = (name) => files.some((file) => name.endsWith(basename(file)));
const broken = []; // files that ended badly; counted where none of their tests failed
run({ files, concurrency: 2 })
    .on("test:pass", ({ name }) => { if (!ofFile(name)) ++passed; })
    .on("test:fail", ({ name, details }) => {
        if (ofFile(name)) return broken.push(name);
        ++failed;
        console.log(`FAILED ${name}\n${details.error?.cause?.stack ?? details.error?.message ?? ""}`);
    })
    .on("test:stderr", ({ message }) => process.stderr.write(message))
    .on("data", () => {})
    .on("end", () => {
        if (broken.length && !failed) { failed = broken.length; console.log(`FAILED ${broken.join(", ")}: ended badly`); }
        if (!names.length) { failed = 1; console.log("no tests found"); }
        rmSync(out, { recursive: true });
        console.log(`${passed} passed, ${failed} failed`);
        process.exitCode = failed ? 1 : 0;
    });
