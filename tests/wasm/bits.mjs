// bits: WebAssembly ends every scene of tests/golden/scenes.txt in the state recorded in hashes.txt, to the last bit, and refuses
// what stands in tests/malformed in the words of expected.txt. JOBS processes share the work.
import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { compileProgram, runProgram, withFolder } from "./program.mjs";

const lines = (path) => readFileSync(path, "utf8").split("\n").filter((line) => line && !/^ *#/.test(line));

/** Each: what to run, and what is wrong with what came out (null: nothing). */
function listChecks() {
    const hashes = new Map(lines("tests/golden/hashes.txt").map((line) => [line.slice(18), line.slice(0, 16)]));
    const scenes = lines("tests/golden/scenes.txt").map((scene) => ({
        name: scene, args: ["run", ...scene.split(" "), "--quiet", "--report", "-"],
        judge: ({ out, err }) => {
            const hash = /"hash": *"([0-9a-f]{16})"/.exec(out)?.[1];
            return hash && hash === hashes.get(scene) ? null : `${hash ?? `no hash (${err.trim()})`}, recorded ${hashes.get(scene)}`;
        },
    }));
    const malformed = lines("tests/malformed/expected.txt").map((line) => {
        const [file, at, text] = line.split("\t"), path = `tests/malformed/${file}`;
        return {
            name: path, args: ["check", path],
            judge: ({ code, err }) => code === 2 && err.startsWith(`tenon: ${path}:${at}: `) && err.includes(text) ? null : `exit ${code}, ${err.trim()}`,
        };
    });
    return [...scenes, ...malformed];
}

const PROCESSES = Number(process.env.JOBS ?? 2);

/** Every other check, beginning with `first`. */
async function work(first) {
    const checks = listChecks(), program = await compileProgram();
    await withFolder(async (folder) => {
        for (let i = first; i < checks.length; i += PROCESSES) {
            const { name, args, judge } = checks[i];
            const wrong = await runProgram(program, args, folder).then(judge, (error) => String(error));
            process.send({ name, wrong });
        }
    });
    process.disconnect();
}

async function lead() {
    let passed = 0, failed = 0;
    const share = (first) => new Promise((resolve) => {
        fork(process.argv[1], [first]).on("exit", resolve).on("message", ({ name, wrong }) => {
            if (wrong === null) return void passed++;
            failed++;
            console.log(`FAILED: ${name}: ${wrong}`);
        });
    });
    await Promise.all(Array.from({ length: PROCESSES }, (_, first) => share(first)));
    if (passed + failed !== listChecks().length) failed++; // one of them died
    console.log(`${passed} passed, ${failed} failed`);
    process.exitCode = failed ? 1 : 0;
}

await (process.send ? work(Number(process.argv[2])) : lead());
