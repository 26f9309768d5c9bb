// `npm run costs`: measures what generations cost on both stores, and keeps the totals that `genrouter capacity` and docs/GROWTH.md are made from.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Measured, MeasuredStore } from "../../src/cli/capacity/measured.ts";
import { describeMachine, syncMs } from "../bench/machine.ts";
import { readFlags, refuse, wholeOf } from "../flags.ts";
import { measureBatches } from "./batches.ts";
import { type Bed, openSqliteBed } from "./fixtures.ts";
import { openPostgresBed } from "./postgres-fixture.ts";
import { measureWhole } from "./whole.ts";

const KEPT = "src/cli/capacity/costs.json";
const HELP = `Usage: npm run costs [-- --lives N] [--rate R] [--out FILE]

Measures what a generation costs on SQLite and on PostgreSQL: rows and bytes of each table, transactions, bytes of the log, processor time
of the node and of the database, by whole lives through the service and by commits of several sizes through the store alone. Five minutes
on two cores.

  --lives N   whole generations at the service, half as many before they count (default 1500)
  --rate R    so many of them a second (default 100, about as busy as nodes are planned to be)
  --less      of each total the lesser of this run and of what is kept already, if that is of the same commit and machine: what else
              a machine does makes processor times longer, never shorter
  --out FILE  where the totals are kept (default ${KEPT}; afterwards print the page anew: UPDATE=1 npm test -- test/docs)

Example:
  npm run costs -- --lives 300 --out /tmp/costs.json
`;

const values = readFlags({
  lives: { type: "string", default: "1500" },
  rate: { type: "string", default: "100" },
  less: { type: "boolean", default: false },
  out: { type: "string", default: KEPT },
  help: { type: "boolean", default: false, short: "h" },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const lives = wholeOf("lives", values.lives, 20);
const perS = wholeOf("rate", values.rate);
const tell = (line: string) => process.stderr.write(`${line}\n`);

const SIZES = [1, 2, 5, 10, 30, 100, 300] as const;
/** Polls of each kind. */
const POLLS = 10_000;
/** Lives in batches of each size. */
const BATCHED_LIVES = 250;

const measureOn = async (open: () => Promise<Bed>): Promise<MeasuredStore> => {
  const bed = await open();
  try {
    const whole = await measureWhole(bed, lives, perS, POLLS, tell);
    return { batches: await measureBatches(bed, SIZES, BATCHED_LIVES, tell), ...whole };
  } finally {
    await bed.close();
  }
};

type BenchResults = { results: { name: string; ours: number }[] };
const bench = JSON.parse(readFileSync(join(import.meta.dir, "../bench/results.json"), "utf8")) as BenchResults;
const running = bench.results.find(({ name }) => name === "memory, running");
if (!running) throw new Error("the bench memory has not been run");

type Timed = { nodeCpuMs: number; databaseCpuMs: number };
const cpuOf = ({ nodeCpuMs, databaseCpuMs }: Timed): number => nodeCpuMs + databaseCpuMs;
/** Of totals that stand at the same place, those that took less; `count`: of how many they are. */
const lesser = <T extends Timed>(ours: readonly T[], kept: readonly T[], count: (one: T) => number): T[] =>
  ours.map((one, at) => {
    const other = kept[at];
    return other && cpuOf(other) / count(other) < cpuOf(one) / count(one) ? other : one;
  });
const lesserStore = (ours: MeasuredStore, kept: MeasuredStore): MeasuredStore => {
  const lives = lesser(ours.lives, kept.lives, ({ generations }) => generations);
  return {
    lives,
    // They are what the first lives left.
    tables: lives[0] === kept.lives[0] ? kept.tables : ours.tables,
    batches: lesser(ours.batches, kept.batches, ({ mutations }) => mutations),
    polls: lesser(ours.polls, kept.polls, (one) => one.polls),
  };
};
/** What is to be held against this run; undefined: nothing. */
const keptBefore = (path: string, commit: string): Measured | undefined => {
  if (!values.less || !existsSync(path)) return undefined;
  const kept = JSON.parse(readFileSync(path, "utf8")) as Measured;
  return kept.commit === commit ? kept : refuse(`--less: what is kept in ${path} is of another commit`);
};
const lesserOf = (ours: Measured, kept: Measured): Measured => {
  if (kept.machine !== ours.machine) refuse("--less: what is kept is of another machine");
  const { sqlite, postgres } = ours.stores;
  const stores = {
    sqlite: lesserStore(sqlite, kept.stores.sqlite),
    postgres: lesserStore(postgres, kept.stores.postgres),
  };
  return { ...ours, syncMs: Math.min(ours.syncMs, kept.syncMs), stores };
};

/** Of what is measured: the last commit that changed the service itself. */
const SERVICE = ["src", "actors", "catalogue", ":!src/cli", ":!src/store/archive"];
const commit = Bun.spawnSync(["git", "log", "-1", "--format=%h", "--abbrev=12", "--", ...SERVICE])
  .stdout.toString()
  .trim();
const before = keptBefore(values.out, commit);
const measured: Measured = {
  ...{
    at: new Date().toISOString(),
    commit,
    machine: describeMachine().replace(/ with [\d.]+ ms a sync/, ""),
    syncMs: Math.min(syncMs(), syncMs(), syncMs()),
  },
  runningBytes: Math.round(running.ours * 1000),
  stores: { sqlite: await measureOn(openSqliteBed), postgres: await measureOn(openPostgresBed) },
};
writeFileSync(values.out, `${JSON.stringify(before ? lesserOf(measured, before) : measured, null, 2)}\n`);
tell(`kept in ${values.out}`);
process.exit(0);
