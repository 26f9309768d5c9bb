// The upload program: `npm run uploads -- [--uploads N] [--seed N] [--only disk,bucket,shared,control]`; ends with `N passed, N failed`.
import { join } from "node:path";
import type { Check } from "../../src/torture/crash/audit.ts";
import { mergeEnds } from "../../src/torture/crash/merge-reports.ts";
import { FROM_SOURCES, killAll } from "../../src/torture/crash/processes.ts";
import { builtBinary } from "../built.ts";
import { namesOf, readFlags, wholeOf } from "../flags.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { endScratch, killAtTheEnd, makeScratch } from "../scratch.ts";
import { playUploadControl, UPLOAD_CONTROLS } from "./control.ts";
import { playUploads, type UploadEnd, WORLDS } from "./killed-world.ts";

const HELP = `Usage: npm run uploads -- [--uploads N] [--seed N] [--only PARTS] [--sources]

Interrupts uploads at random moments: clients break connections and are killed, and the service is killed. The uploads are forms,
whole bodies and resumable ones (tus). Then every acknowledged file is read and compared with its SHA-256, a sweep must leave no
bytes without a file, and no credits may have moved. The controls run services that store uploads in a wrong order, which must be
found.
  --uploads N   uploads to interrupt, over all worlds (default 600)
  --seed N      seed of contents, breaks and kills (default: a new one each time, printed)
  --only PARTS  parts separated by commas: disk (SQLite, local files), bucket (SQLite, S3), shared (PostgreSQL, S3), control
  --binary      run the service from dist/genrouter, which is built if it is older than the sources (default)
  --sources     run it from the sources

Examples:
  $ npm run uploads
  $ npm run uploads -- --uploads 10000 --only disk,bucket
`;
const PARTS: readonly string[] = [...WORLDS, "control"];

const say = (line: string) => process.stdout.write(`${line}\n`);
const said = readFlags({
  uploads: { type: "string", default: "600" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  only: { type: "string", default: PARTS.join(",") },
  binary: { type: "boolean", default: true },
  sources: { type: "boolean", default: false },
  help: { type: "boolean", default: false, short: "h" },
});
if (said.help) {
  say(HELP);
  process.exit(0);
}
const parts = namesOf("only", said.only, PARTS);
const [uploads, seed] = [wholeOf("uploads", said.uploads), wholeOf("seed", said.seed, 0)];

let passed = 0;
let failed = 0;
const judge = ({ name, faults }: Check) => {
  if (faults.length === 0) passed += 1;
  else failed += 1;
  say(`${faults.length === 0 ? "(pass)" : "(fail)"} ${name}`);
  for (const fault of faults.slice(0, 10)) say(`       ${fault}`);
  if (faults.length > 10) say(`       and ${faults.length - 10} more`);
};
const textOf = (fault: unknown) => (fault instanceof Error ? (fault.stack ?? fault.message) : String(fault));

say(`seed ${seed}`);
if (postgresReason !== undefined && parts.includes("shared")) say(`skipped: shared: ${postgresReason}`);
const worlds = WORLDS.filter((name) => parts.includes(name) && (name !== "shared" || postgresReason === undefined));
const genrouter = said.sources || worlds.length === 0 ? FROM_SOURCES : await builtBinary(say);
const dir = makeScratch("uploads-");
killAtTheEnd(killAll);
const ends: UploadEnd[] = [];
for (const name of worlds) {
  const hear = (line: string) => say(`${name}: ${line}`);
  const share = Math.ceil(uploads / worlds.length);
  const end = await playUploads({ name, dir: join(dir, name), uploads: share, seed, genrouter, say: hear }).catch(
    (fault: unknown): UploadEnd => ({
      checks: [{ name: `${name}: no error ends the world`, faults: [textOf(fault)] }],
      figures: {},
    }),
  );
  for (const check of end.checks) judge(check);
  ends.push(end);
}
// The controls are skipped after a fault, so that their output does not hide it.
if (parts.includes("control") && failed === 0)
  for (const [n, control] of UPLOAD_CONTROLS.entries())
    judge(
      await playUploadControl(control, { dir: join(dir, `control-${n}`), seed, say: () => undefined }).catch(
        (fault: unknown) => ({
          name: control.name,
          faults: [textOf(fault)],
        }),
      ),
    );
killAll();
endScratch(dir, failed > 0, say);
say(`figures ${JSON.stringify(mergeEnds(ends).figures)}`);
say(`${passed} passed, ${failed} failed`);
if (failed > 0) say(`again: npm run uploads -- --uploads ${uploads} --seed ${seed} --only ${parts.join(",")}`);
process.exit(failed === 0 ? 0 : 1);
