// Tests old faults on an old and the present build: `npm run faults:before -- [--only ID]`; ends with `N passed, N failed`.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { FROM_SOURCES, type Genrouter, killAll, run } from "../../src/torture/crash/processes.ts";
import { openStripe } from "../billing/stripe-server.ts";
import { openPlace } from "../bombs/fixture.ts";
import { readFlags, refuse } from "../flags.ts";
import { makeScratch } from "../scratch.ts";
import { MEDIA_TRIALS } from "./media-trials.ts";
import { HEAVY_TRIALS, moneyTrials, NOT_SHOWN } from "./money-trials.ts";
import { OPERATOR_NOT_SHOWN, operatorTrials } from "./operator-trials.ts";
import { openFiles, openFront, openWorld, type Seen, type Trial, type World } from "./trial.ts";

const COMMIT = "02a070a";
const HELP = `Reproduces former faults over HTTP and the command line, with the build that had them and with this one.

  npm run faults:before                          builds ${COMMIT} in a worktree first
  npm run faults:before -- --binary PATH         uses an existing build of it
  npm run faults:before -- --only setup-link,gif-result   reproduces two of them

  --binary PATH    a build of ${COMMIT}
  --present PATH   a build of this one            (the sources)
  --only ID        a selection of the faults`;

const values = readFlags({
  binary: { type: "string" },
  present: { type: "string" },
  only: { type: "string" },
  help: { type: "boolean", default: false },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
if (values.help) {
  say(HELP);
  process.exit(0);
}

/** Builds the commit in a separate worktree. @returns the path of the binary. */
const buildBefore = async (): Promise<string> => {
  const root = join(import.meta.dir, "../..");
  const dir = join(makeScratch("genrouter-before-"), "tree");
  say(`building ${COMMIT}`);
  const steps: string[][] = [
    ["git", "-C", root, "worktree", "add", "--detach", dir, COMMIT],
    ["npm", "--prefix", dir, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
    ["node", join(dir, "scripts/build.mjs")],
  ];
  for (const [command = "", ...words] of steps) {
    const ended = Bun.spawnSync([command, ...words], { cwd: existsSync(dir) ? dir : root, stdout: "ignore", stderr: "pipe" });
    if (ended.exitCode !== 0)
      throw new Error(`${command} ${words.join(" ")} ended with ${ended.exitCode}: ${ended.stderr.toString().slice(-2000)}`);
  }
  return join(dir, "dist/genrouter");
};

type TrialEnd = { trial: Trial; seen: Seen };
const tried = async (trial: Trial, world: World): Promise<TrialEnd> => {
  try {
    return { trial, seen: await trial.run(world) };
  } catch (fault) {
    return { trial, seen: { isRight: false, seen: fault instanceof Error ? fault.message : String(fault) } };
  }
};

/** Runs all trials on one build: light ones concurrently, heavy ones one after the other. */
const tryAll = async (genrouter: Genrouter, wanted: (id: string) => boolean): Promise<TrialEnd[]> => {
  let simulator = "";
  const front = openFront(() => simulator);
  const files = openFiles();
  const stripe = openStripe();
  const place = await openPlace(genrouter, 1, {
    allowed: [files.host, front.host, "127.0.0.1"],
    through: (url) => {
      simulator = url;
      return front.url;
    },
    env: stripe.env,
  });
  const world = openWorld(place, front, files);
  const light = [...MEDIA_TRIALS, ...moneyTrials(stripe), ...operatorTrials(genrouter)].filter(({ id }) => wanted(id));
  // A trial that changes a provider's responses or routes runs alone.
  const isAlone = ({ id }: Trial) => ["withheld-result", "unusable-result", "unknown-error-code"].includes(id);
  const reported = await Promise.all(light.filter((one) => !isAlone(one)).map((one) => tried(one, world)));
  for (const one of [...light.filter(isAlone), ...HEAVY_TRIALS.filter(({ id }) => wanted(id))])
    reported.push(await tried(one, world));
  await place.close();
  await Promise.all([front.stop(), files.stop(), stripe.stop()]);
  return reported;
};

/** Their trials need a Stripe server, so that they are known only by name before it runs. */
const MONEY_TRIAL_IDS: readonly string[] = [
  ...["debt-repayment", "unknown-error-code", "dispute-other-currency", "dispute-lost-later", "pinned-input"],
];
const ids = values.only?.split(",");
const wanted = (id: string) => ids?.includes(id) ?? true;
const named = [...MEDIA_TRIALS, ...HEAVY_TRIALS, ...operatorTrials([])].map(({ id }) => id);
if (ids && ![...named, ...MONEY_TRIAL_IDS].some(wanted)) refuse(`--only: there is no trial ${ids.join(", ")}`);
const before = values.binary ?? (await buildBefore());
const { output: version } = await run([before, "--version"]);
say(`before: ${version.trim().split("\n")[0]}`);
const old = await tryAll([before], wanted);
const now = await tryAll(values.present === undefined ? FROM_SOURCES : [values.present], wanted);
let [passed, failed] = [0, 0];
/** Matches trials that were right before and must stay right; all others must have been wrong before. */
const STAYS = /as before$/;
for (const { trial, seen } of now) {
  const was = old.find((one) => one.trial.id === trial.id && one.trial.says === trial.says)?.seen;
  const isShown = seen.isRight && (was?.isRight === false || STAYS.test(trial.says));
  if (isShown) passed += 1;
  else failed += 1;
  say(`${isShown ? "(pass)" : "(fail)"} ${trial.id}: ${trial.says}`);
  say(`       before ${was?.isRight ? "right" : "wrong"}: ${was?.seen}`);
  say(`       now    ${seen.isRight ? "right" : "wrong"}: ${seen.seen}`);
}
for (const [id, why] of [...NOT_SHOWN, ...OPERATOR_NOT_SHOWN]) say(`(not shown) ${id}: ${why}`);
say("");
say("| fault | before | now |");
say("| --- | --- | --- |");
const mark = (seen: Seen | undefined) => (seen?.isRight ? "right" : "wrong");
for (const { trial, seen } of now)
  say(`| ${trial.id}: ${trial.says} | ${mark(old.find((one) => one.trial.says === trial.says)?.seen)} | ${mark(seen)} |`);
say(
  `figures ${JSON.stringify({ trials: now.length, wrongBefore: old.filter(({ seen }) => !seen.isRight).length, rightNow: now.filter(({ seen }) => seen.isRight).length })}`,
);
say(`${passed} passed, ${failed} failed`);
killAll();
process.exit(failed > 0 ? 1 : 0);
