// gltf_check: hands glTF files to the Khronos validator. Silent and exit code 0: no errors, no warnings.
//     node tests/web/gltf_check.mjs FILE...
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const validator = require("gltf-validator");

let bad = 0;
for (const file of process.argv.slice(2)) {
    const report = await validator.validateBytes(new Uint8Array(readFileSync(file)), { uri: file, maxIssues: 20 });
    for (const issue of report.issues.messages) {
        if (issue.severity > 1) continue; // 0 error, 1 warning, 2 information, 3 hint
        console.log(`${file}: ${issue.code} at ${issue.pointer ?? issue.offset}: ${issue.message}`);
    }
    if (report.issues.numErrors + report.issues.numWarnings > 0) bad = 1;
    else if (process.env.VERBOSE) console.log(file, JSON.stringify(report.issues), JSON.stringify(report.info));
}
process.exit(bad);
