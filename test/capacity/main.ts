// `npm run costs`: measures the cost of generations on both stores, for `genrouter capacity` and docs/GROWTH.md.
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

Measures the cost of a generation on SQLite and on PostgreSQL: rows and bytes of each table, transactions, bytes of the log, and
CPU time of the node and of the database. Runs whole generations through the service, and commits of several sizes through the
store alone. Takes five minutes on two cores.

  --lives N   number of measured generations through the service, after a warm-up of the same number (default 1500)
  --rate R    generations per second (default 100, about the planned load of a node)
  --less      keep the lesser of each total of this run and of the stored file, if that is of the same commit and machine: other
              load on a machine makes CPU times longer, never shorter
  --out FILE  file for the totals (default ${KEPT}; then print the page again: UPDATE=1 npm test -- test/docs)

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
const report = (line: string) => process.stderr.write(`${line}\n`);

const SIZES = [1, 2, 5, 10, 30, 100, 300] as const;
/** The number of polls of each kind. */
const POLLS = 10_000;
/** The number of generations for each batch size. */
const BATCHED_LIVES = 250;

const measureOn = async (open: () => Promise<Bed>): Promise<MeasuredStore> => {
  const bed = await open();
  try {
    const whole = await measureWhole(bed, lives, perS, POLLS, report);
    return { batches: await measureBatches(bed, SIZES, BATCHED_LIVES, report), ...whole };
  } finally {
    await bed.close();
  }
};

type BenchResults = { results: { name: string; ours: number }[] };
const bench = JSON.parse(readFileSync(join(import.meta.dir, "../bench/results.json"), "utf8")) as BenchResults;
const running = bench.results.find(({ name }) => name === "memory, running");
if (!running) throw new Error('the bench "memory, running" has no result');

type Timed = { nodeCpuMs: number; databaseCpuMs: number };
const cpuOf = ({ nodeCpuMs, databaseCpuMs }: Timed): number => nodeCpuMs + databaseCpuMs;
/** For each position, the total with the lower CPU time per item. `count` returns the number of items. */
const lesser = <T extends Timed>(ours: readonly T[], kept: readonly T[], count: (one: T) => number): T[] =>
  ours.map((one, at) => {
    const other = kept[at];
    return other && cpuOf(other) / count(other) < cpuOf(one) / count(one) ? other : one;
  });
const lesserStore = (ours: MeasuredStore, kept: MeasuredStore): MeasuredStore => {
  const lives = lesser(ours.lives, kept.lives, ({ generations }) => generations);
  return {
    lives,
    // The tables belong to the first measurement.
    tables: lives[0] === kept.lives[0] ? kept.tables : ours.tables,
    batches: lesser(ours.batches, kept.batches, ({ mutations }) => mutations),
    polls: lesser(ours.polls, kept.polls, (one) => one.polls),
  };
};
/** The stored totals to compare this run with, or undefined. */
const keptBefore = (path: string, commit: string): Measured | undefined => {
  if (!values.less || !existsSync(path)) return undefined;
  const kept = JSON.parse(readFileSync(path, "utf8")) as Measured;
  return kept.commit === commit ? kept : refuse(`--less: the totals in ${path} are of another commit`);
};
const lesserOf = (ours: Measured, kept: Measured): Measured => {
  if (kept.machine !== ours.machine) refuse("--less: the stored totals are of another machine");
  const { sqlite, postgres } = ours.stores;
  const stores = {
    sqlite: lesserStore(sqlite, kept.stores.sqlite),
    postgres: lesserStore(postgres, kept.stores.postgres),
  };
  return { ...ours, syncMs: Math.min(ours.syncMs, kept.syncMs), stores };
};

/** The paths of the service itself: the last commit that changed them identifies the measurement. */
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
report(`stored in ${values.out}`);
process.exit(0);
