// Bench of memory: the resident memory of one more running generation, in memory, and restored and put away.

import { Database } from "bun:sqlite";
import { join } from "node:path";
import type { RuntimeStats } from "../../src/app/runtime-stats.ts";
import { fetchStats } from "../../src/cli/control-client.ts";
import { DATABASE_FILE } from "../../src/store/sqlite/open.ts";
import { until } from "../../src/torture/crash/processes.ts";
import { writeSample } from "../sample/catalogue.ts";
import { makeScratch } from "../scratch.ts";
import { type Bench, type Env, hold, type Result, spreadOf } from "./bench.ts";
import { PICTURES } from "./lives.ts";
import { providedBy, RESTING } from "./provided.ts";
import { startService } from "./service.ts";
import { type Stage, submitSome, withService } from "./sides.ts";
import { endStocked, makeStocked, type StockedHome } from "./stock.ts";
import { withProvider } from "./upstream.ts";

/** The baseline number, so that both sides contain code, pools and caches. */
const FIRST = 1_000;
const AWAKE = 10_000;
const AWAKE_KB = 14;
/** The least share in memory: others were polled so long ago that they are passivated, and would distort the figure. */
const LEAST_AWAKE = 0.99;
const PASSIVATED = 100_000;
const PASSIVATED_KB = 3;
const LONGEST_MS = 180_000;
const SETTLE_MS = 500;
const COLLECTIONS = 5;

/** Measured after full collections and a pause for the allocator to return pages. */
export const weigh = async (dir: string): Promise<RuntimeStats> => {
  let least = await fetchStats(dir, { collect: true });
  for (let turn = 1; turn < COLLECTIONS; turn += 1) {
    await Bun.sleep(SETTLE_MS);
    const now = await fetchStats(dir, { collect: true });
    if (now.rssBytes < least.rssBytes) least = now;
  }
  return least;
};

const pollingIn = (dir: string): number => {
  const db = new Database(join(dir, DATABASE_FILE), { readonly: true });
  const row = db.query<{ count: number }, []>("SELECT count(*) AS count FROM snapshot WHERE state = 'running.polling'").get();
  db.close();
  return row?.count ?? 0;
};

/** The pause between samples, which cost time of the service. */
const LOOK_MS = 250;
const atLeisure = async <T>(look: () => T | Promise<T>): Promise<T> => {
  await Bun.sleep(LOOK_MS);
  return look();
};

export type Weight = { rssKb: number; heapKb: number };
/** Starts a service with these settings on a separate directory, for the duration of the work. */
export type Within = (settings: Readonly<Record<string, string>>, work: (stage: Stage) => Promise<Weight>) => Promise<Weight>;

const withSample: Within = (settings, work) =>
  withService({ env: { ...settings, GENROUTER_CATALOGUE__DIR: writeSample(makeScratch("bench-catalogue-")) } }, work);

/** The memory of one more running generation in a new process: each is accepted by its provider and waits for its next poll. */
export const weighAwake = (env: Env, within = withSample): Promise<Weight> =>
  withProvider((provider) =>
    within({ ...RESTING, ...providedBy(provider) }, async (stage) => {
      const weighed = async (more: number, running: number) => {
        await submitSome(stage, more, `awake-${running}`);
        await until(`${running} running generations`, () => atLeisure(() => pollingIn(stage.dir) === running), LONGEST_MS);
        const figures = await weigh(stage.dir);
        env.report(
          `${running} running, ${figures.live} awake: ${(figures.rssBytes / 1e6).toFixed(1)} MB, heap ${(figures.heapBytes / 1e6).toFixed(1)} MB`,
        );
        return figures;
      };
      const few = await weighed(FIRST, FIRST);
      const many = await weighed(AWAKE - FIRST, AWAKE);
      if (few.live < LEAST_AWAKE * FIRST || many.live < LEAST_AWAKE * AWAKE)
        throw new Error(`only ${few.live} of ${FIRST} and ${many.live} of ${AWAKE} running generations were awake`);
      const kbEach = (bytes: (of: RuntimeStats) => number) => (bytes(many) - bytes(few)) / (AWAKE - FIRST) / 1000;
      return { rssKb: kbEach(({ rssBytes }) => rssBytes), heapKb: kbEach(({ heapBytes }) => heapBytes) };
    }),
  );

const awake = async (env: Env): Promise<Result[]> => {
  const starts = env.isShort ? 1 : env.starts;
  const weights = [await weighAwake(env)];
  while (weights.length < starts) weights.push(await weighAwake(env));
  const reported = { unit: "kB", target: 1, wants: "at most" } as const;
  const sides = `each of ${AWAKE} running, in ${starts} ${starts === 1 ? "process" : "processes"} / the bound`;
  const spread = (pick: (one: (typeof weights)[number]) => number) => spreadOf(weights.map(pick));
  return [
    hold(
      { ...reported, name: "memory, running", sides },
      spread(({ rssKb }) => rssKb),
      AWAKE_KB,
    ),
    hold(
      { ...reported, name: "memory, running, heap", sides: "the same in the heap", isNote: true },
      spread(({ heapKb }) => heapKb),
      AWAKE_KB,
    ),
  ];
};

/**
 * Restored generations are as small as passivated ones: each is a host without its machine, a deadline and a pending poll. The
 * other side has as many on disk, all ended.
 */
const passivated = async (env: Env): Promise<Result[]> => {
  const weighed = async ({ dir }: StockedHome, running: number): Promise<number> => {
    const service = await startService({ dir, env: RESTING });
    const tasks = async () => (await fetchStats(dir, { collect: false })).tasks;
    await until(`${running} tasks`, () => atLeisure(async () => (await tasks()) === running), LONGEST_MS);
    const figures = await weigh(dir);
    env.report(
      `${figures.running} running, ${figures.live} awake: ${(figures.rssBytes / 1e6).toFixed(1)} MB, heap ${(figures.heapBytes / 1e6).toFixed(1)} MB`,
    );
    await service.stop();
    return figures.rssBytes;
  };
  const homes = {
    ours: await makeStocked(PASSIVATED, "running", { report: env.report }),
    other: await makeStocked(PASSIVATED, "succeeded", { report: env.report, subject: PICTURES }),
  };
  const kbEach: number[] = [];
  // Resident memory differs by a few percent between starts.
  for (let round = 0; round < (env.isShort ? 1 : env.starts); round += 1) {
    const withThem = await weighed(homes.ours, PASSIVATED);
    kbEach.push((withThem - (await weighed(homes.other, 0))) / PASSIVATED / 1000);
  }
  for (const home of Object.values(homes)) await endStocked(home);
  const sides = `each of ${PASSIVATED} running, restored and put away / the bound`;
  return [hold({ name: "memory, put away", unit: "kB", sides, target: 1, wants: "at most" }, spreadOf(kbEach), PASSIVATED_KB)];
};

export const memory: Bench = {
  name: "memory",
  compares:
    "resident memory for each of 10,000 running, and of 100,000 running, restored and put away, after full collections / 14 kB and 3 kB",
  // Its time limits are many times its normal duration.
  isPatient: true,
  run: async (env) => [...(await awake(env)), ...(await passivated(env))],
};
