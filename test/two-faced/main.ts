// Tests two-faced file servers: `npm run two-faced -- [--cases N] [--seed N] [--binary PATH]`; ends with `N passed, N failed`.
import { BINARY, FROM_SOURCES, killAll } from "../../src/torture/crash/processes.ts";
import { openPlace } from "../bombs/fixture.ts";
import { namesOf, readFlags, wholeOf } from "../flags.ts";
import { openFaces } from "./faces.ts";
import { playTwoFaced } from "./run.ts";

const HELP = `Submits links whose servers return one file to the service and another to the provider, and compares the charge with the file that
the provider received.

  npm run two-faced                       100 orders
  npm run two-faced -- --cases 15         15 orders
  npm run two-faced -- --links off        providers receive the files by upload or inline, not by links

  --cases N       number of such orders   (100)
  --seed N        seed of lengths, kinds and turns (random, printed)
  --lanes N       concurrent orders       (8)
  --links WHICH   files.provider_links    (auto)
  --binary PATH   another build of genrouter; "built" for dist/genrouter (the sources)`;

const values = readFlags({
  cases: { type: "string", default: "100" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  lanes: { type: "string", default: "8" },
  links: { type: "string", default: "auto" },
  binary: { type: "string" },
  help: { type: "boolean", default: false },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
if (values.help) {
  say(HELP);
  process.exit(0);
}
const plan = {
  ...{ cases: wholeOf("cases", values.cases), seed: wholeOf("seed", values.seed, 0), lanes: wholeOf("lanes", values.lanes) },
};
const [links = "auto"] = namesOf("links", values.links, ["auto", "on", "off"]);
const built = values.binary === "built" ? BINARY : [values.binary ?? ""];
const genrouter = values.binary === undefined ? FROM_SOURCES : built;
say(`seed ${plan.seed}, ${plan.cases} orders, files.provider_links=${links}`);
const begunMono = performance.now();

let servicePid = 0;
const faces = openFaces(() => servicePid);
const place = await openPlace(genrouter, 1, {
  allowed: [faces.host],
  // Only the service is judged: another build also uses the simulator of these sources, which reports what it receives.
  simulator: FROM_SOURCES,
  env: links === "auto" ? {} : { GENROUTER_FILES__PROVIDER_LINKS: links },
});
servicePid = place.nodes[0]?.child.pid ?? 0;
const judged: [boolean, string][] = [];
try {
  const { right, reported, ends, byKind, costUsd } = await playTwoFaced(place, faces, plan);
  judged.push([right === plan.cases, `${right} of ${plan.cases} orders are billed as received, or not billed`]);
  for (const line of reported) say(`       ${line}`);
  const shown = await place.command("credits", "show", "--account", place.orderer.id, "--json");
  const line = shown.output.split("\n").find((each) => each.startsWith("{")) ?? "{}";
  const { available_usd: left = 0, held_usd: held } = JSON.parse(line) as { available_usd?: number; held_usd?: number };
  const spent = 50_000 - left;
  judged.push([held === 0, `no hold remains (${held} USD)`]);
  judged.push([
    Math.abs(spent - costUsd) < 0.000_05,
    `the account has paid ${spent.toFixed(4)} USD, its orders cost ${costUsd.toFixed(4)}`,
  ]);
  const verified = await place.command("verify");
  judged.push([verified.code === 0, `verify ends with ${verified.code}`]);
  if (verified.code !== 0) say(verified.output);
  const seconds = Math.round((performance.now() - begunMono) / 1000);
  say(`figures ${JSON.stringify({ cases: plan.cases, right, ...ends, byKind, seconds })}`);
} catch (fault) {
  judged.push([false, fault instanceof Error ? fault.message : String(fault)]);
} finally {
  await place.close();
  await faces.stop();
}
for (const [holds, what] of judged) say(`${holds ? "(pass)" : "(fail)"} ${what}`);
const failed = judged.filter(([holds]) => !holds).length;
if (failed > 0) say(`again: npm run two-faced -- --cases ${plan.cases} --seed ${plan.seed} --links ${links}`);
say(`${judged.length - failed} passed, ${failed} failed`);
killAll();
process.exit(failed === 0 ? 0 : 1);
