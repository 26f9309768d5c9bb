// Generates clients in all languages and runs them: `npm run clients`; ends with `N passed, N failed`.

import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { killAll } from "../../../src/torture/crash/processes.ts";
import { readFlags } from "../../flags.ts";
import { dropScratch } from "../../scratch.ts";
import { LANGUAGES, missing, reportOf } from "./languages.ts";
import { openService } from "./service.ts";

const HELP = `Generates a client from openapi.json in each language, compiles it, and runs a program over it against a simulated service.
The program uploads a file, submits generations with it, waits, lists, cancels and deletes. A language without its tools is
skipped, and the reason is printed. The first run downloads packages from the registries of the languages.

  npm run clients                          TypeScript, Python, Go and Java
  npm run clients -- --only Go,Java        some of them

  --only NAMES    languages, separated by commas`;

const values = readFlags({ only: { type: "string", default: "" }, help: { type: "boolean", default: false } });
const say = (line: string) => process.stdout.write(`${line}\n`);
if (values.help) {
  say(HELP);
  process.exit(0);
}
const only = values.only === "" ? null : values.only.split(",");
const unknown = only?.filter((name) => !LANGUAGES.some((each) => each.name === name)) ?? [];
if (unknown.length > 0) {
  say(`--only: ${unknown.join(", ")} is not one of ${LANGUAGES.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

const dir = mkdtempSync(join(tmpdir(), "clients-"));
const service = await openService(dir);
let [passed, failed] = [0, 0];
for (const language of LANGUAGES.filter(({ name }) => only === null || only.includes(name))) {
  const [label, reason] = [`${language.name} (${language.generator})`, missing(language)];
  if (reason !== null) {
    say(`skipped: ${label}: ${reason}`);
    continue;
  }
  const beganMono = performance.now();
  const place = join(dir, language.name.toLowerCase());
  mkdirSync(place);
  try {
    await language.prepare(place);
    await service.check(await reportOf(language, place, service.envOf(language.name)), language.name);
    passed += 1;
    say(`ok: ${label}, ${Math.round((performance.now() - beganMono) / 1000)} s`);
  } catch (fault) {
    failed += 1;
    say(`FAILED: ${label}: ${fault instanceof Error ? fault.message : fault}`);
  }
}
await service.stop();
killAll();
dropScratch(dir);
say(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
