// Prints every npm script with one line that says what it does (help.json): `npm run help`.
import { readFileSync } from "node:fs";

// The reader of a pipe (`| head`) may close it early.
process.stdout.on("error", () => process.exit(0));

const lines = JSON.parse(readFileSync(new URL("help.json", import.meta.url), "utf8"));
const width = Math.max(...Object.keys(lines).map((name) => name.length));
process.stdout.write("npm run SCRIPT -- ARGUMENTS; most scripts print their arguments for --help\n\n");
for (const [name, line] of Object.entries(lines)) process.stdout.write(`  ${name.padEnd(width)}  ${line}\n`);
