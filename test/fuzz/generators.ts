// Runs the fuzzer in parts, each with a separate service: kept cases first, then new ones; judges, keeps and prints.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { dropScratch, makeScratch } from "../scratch.ts";
import { openWorld, type World } from "./fixture.ts";
import { KEPT, type Kept, keptCases } from "./kept.ts";
import { openLingering } from "./lingering.ts";
import { type Finding, playKept, replay, runCases } from "./run.ts";
import { spawnServed } from "./served.ts";

const say = (line: string) => process.stdout.write(`${line}\n`);
/** The memory that a service may gain after all work has ended, MB: its bounded caches are not full at first. */
const GAIN_MB = 160;
/** The baseline of memory is measured again after this number of cases, when caches are warm. */
const WARM = 2_000;

let plan: Pick<Plan, "keep"> = { keep: false };
let passed = 0;
let failed = 0;
const judge = (name: string, faults: readonly string[]) => {
  if (faults.length === 0) passed += 1;
  else failed += 1;
  say(`${faults.length === 0 ? "(pass)" : "(fail)"} ${name}`);
  for (const fault of faults.slice(0, 10)) say(`       ${fault}`);
};

const reportFinding = ({ seed, path, faults, case: one, line }: Finding) => {
  const name = `fuzz-${seed}-${path.replaceAll(":", "-").slice(0, 40)}`;
  judge(`case ${seed}:${path}`, [...faults, line.slice(0, 4_000), `npm run fuzz -- --replay ${seed}:${path}`]);
  if (!plan.keep) return;
  writeFileSync(join(KEPT, `${name}.json`), `${JSON.stringify({ name, faults, case: one } satisfies Kept, null, 2)}\n`);
  say(`       kept as test/regressions/${name}.json`);
};

/** Opens a separate service for `work`, and stops it. */
const inWorld = async (work: (world: World) => Promise<void>): Promise<void> => {
  const dir = makeScratch("fuzz-");
  const served = await spawnServed(dir, (code) => {
    judge("the service lives", [`it ended with ${code}`]);
    say(`${passed} passed, ${failed} failed`);
    process.exit(1);
  });
  try {
    const world = await openWorld(served);
    await work(world);
    world.books.close();
  } finally {
    await served.close();
    dropScratch(dir);
  }
};

const figures = {
  cases: 0,
  requests: 0,
  seconds: 0,
  per_s: 0,
  service_cpu_s: 0,
  client_cpu_s: 0,
  longest_ms: 0,
  gain_mb: 0,
  kinds: { call: 0, bytes: 0, life: 0 },
};
const statuses = new Map<number, number>();

const playPart = async (seed: number, cases: number, lanes: number, from: number) =>
  inWorld(async (world) => {
    const lingering = from === 0 ? openLingering(world.url, world.owner.key) : null;
    const startedMs = performance.now();
    let played = 0;
    const how = {
      lanes,
      played: (kind: keyof typeof figures.kinds) => {
        figures.kinds[kind] += 1;
        played += 1;
        if (played % 2_500 === 0)
          say(`  ${from + played} cases, ${Math.round(played / ((performance.now() - startedMs) / 1000))} a second`);
      },
    };
    const warmCases = Math.min(WARM, cases);
    const warm = await runCases(world, { ...how, cases: warmCases, seed });
    const base = await world.served.rest();
    const rest =
      cases > warmCases ? await runCases(world, { ...how, cases: cases - warmCases, seed: seed + 1 }) : { done: 0, findings: [] };
    const seconds = (performance.now() - startedMs) / 1000;
    const end = await world.served.rest();
    const gainMb = end.rssMb - base.rssMb;
    const findings = [...warm.findings, ...rest.findings];
    const about = `cases ${from + 1} to ${from + cases}, seed ${seed}`;
    judge(`${about}: every answer is as described`, findings.length > 0 ? [`${findings.length} are not`] : []);
    for (const finding of findings) reportFinding(finding);
    judge(`${about}: every generation ended, the invariants hold, nothing failed inside`, [...base.faults, ...end.faults]);
    judge(
      `${about}: memory is near where it was`,
      gainMb > GAIN_MB ? [`${Math.round(gainMb)} MB more than after ${WARM} cases`] : [],
    );
    const missed = world.models
      .filter(({ id }) => !world.accepted.has(id))
      .map(({ id }) => `no submission for ${id} was accepted`);
    judge(`${about}: every model accepted what its options offer`, cases < WARM ? [] : missed);
    if (lingering) judge("connections that never finish are closed", await lingering.left());
    figures.cases += warm.done + rest.done;
    figures.requests += world.requests;
    figures.service_cpu_s += Math.round(end.cpuS);
    figures.seconds += seconds;
    figures.longest_ms = Math.max(figures.longest_ms, Math.round(world.longestMs));
    figures.gain_mb = Math.max(figures.gain_mb, Math.round(gainMb));
    for (const [status, count] of world.statuses) statuses.set(status, (statuses.get(status) ?? 0) + count);
  });

const playKeptOnes = async () => {
  const all = keptCases();
  await inWorld(async (world) => {
    for (const kept of all) judge(`regression ${kept.name}`, await playKept(world, kept.case));
  });
};

export type Plan = { cases: number; part: number; lanes: number; seed: number; replay: string | undefined; keep: boolean };

const playAll = async ({ cases, part, lanes, seed, replay: again }: Plan) => {
  if (again !== undefined) {
    const [from = "", ...path] = again.split(":");
    await inWorld(async (world) => {
      const finding = await replay(world, Number(from), path.join(":"));
      judge(`case ${again}`, finding === null ? [] : [...finding.faults, finding.line]);
      if (finding) say(JSON.stringify(finding.case, null, 2).slice(0, 4_000));
    });
    return;
  }
  say(`seed ${seed}`);
  await playKeptOnes();
  for (let from = 0; from < cases; from += part) await playPart(seed + from, Math.min(part, cases - from), lanes, from);
  const { user, system } = process.cpuUsage();
  figures.client_cpu_s = Math.round((user + system) / 1e6);
  figures.per_s = Math.round(figures.cases / Math.max(figures.seconds, 0.001));
  figures.seconds = Math.round(figures.seconds * 10) / 10;
  say(`figures ${JSON.stringify({ ...figures, statuses: Object.fromEntries([...statuses].sort(([a], [b]) => a - b)) })}`);
};

/** Runs everything. @returns the exit code. */
export const runProgram = async (chosen: Plan): Promise<number> => {
  plan = chosen;
  await playAll(chosen).catch((fault: unknown) =>
    judge("the program", [fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)]),
  );
  say(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
};
