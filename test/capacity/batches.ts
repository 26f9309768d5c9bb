// Measures the cost of a commit by its number of mutations: commits whole generations in batches of each size through the store.
import { readFileSync } from "node:fs";
import type { Batched } from "../../src/cli/capacity/measured.ts";
import type { Mutation } from "../../src/domain/mutations.ts";
import type { StoredFile } from "../../src/domain/types.ts";
import type { SerializedMutation } from "../../src/store/sql/serialized-mutations.ts";
import { openLives, PICTURES } from "../bench/lives.ts";
import { openCpu } from "../bench/machine.ts";
import { endowIn, type Tenant } from "../bench/service.ts";
import type { Bed } from "./fixtures.ts";

const ACCOUNTS = 200;
const FILES: StoredFile[] = [{ n: 1, sha256: "0".repeat(64), bytes: 100_000, mime: "image/png" }];

/** Shares equal plans and defaults as one object, as the ledger does. */
const texts = new Map<string, never>();
const read = (text: string): never => {
  if (!texts.has(text)) texts.set(text, JSON.parse(text) as never);
  return texts.get(text) as never;
};
const unpacked = (mutation: SerializedMutation): Mutation => {
  if (mutation.mutation === "step") {
    const { eventJson, earlier = [], ...rest } = mutation;
    const events = earlier.map((one) => ({ stateAfter: one.stateAfter, event: JSON.parse(one.eventJson) }));
    return { ...rest, event: JSON.parse(eventJson), ...(events.length === 0 ? {} : { earlier: events }) };
  }
  if (mutation.mutation !== "admit") return mutation;
  const { addedJson, planJson, ...rest } = mutation;
  return { ...rest, added: read(addedJson), plan: read(planJson) };
};

/** Mutations of overlapping generations: each batch has some of every kind, and never two of one generation. */
const mixed = (tenants: readonly Tenant[], lives: number, apart: number): Mutation[] => {
  const lifeOf = openLives({ ...PICTURES, files: 1 });
  const nowMs = Date.now();
  const turns: { at: number; mutation: Mutation }[] = [];
  for (let n = 0; n < lives; n += 1) {
    const tenant = tenants[n % tenants.length];
    if (!tenant) throw new Error("there is no account");
    const { mutations } = lifeOf(tenant, nowMs, "succeeded", FILES);
    for (const [turn, mutation] of mutations.entries()) turns.push({ at: n + turn * apart, mutation: unpacked(mutation) });
  }
  return turns.sort((a, b) => a.at - b.at).map(({ mutation }) => mutation);
};

const writtenBytes = (): number => Number(/^wchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1] ?? 0);
const median = (all: number[]): number => all.sort((a, b) => a - b)[all.length >> 1] ?? Number.NaN;

/** Other load on the machine costs time in caches, so the cheapest of several rounds counts. */
const ROUNDS = 3;
const cpuOf = ({ nodeCpuMs, databaseCpuMs }: Batched): number => nodeCpuMs + databaseCpuMs;

/** Commits generations in batches of each size. */
export const measureBatches = async (
  bed: Bed,
  sizes: readonly number[],
  lives: number,
  report: (line: string) => void,
): Promise<Batched[]> => {
  const store = await bed.open();
  const tenants = await endowIn(store, ACCOUNTS);
  const commit = async (mutations: readonly Mutation[]): Promise<void> => {
    const wrong = (await store.commit(mutations)).find(({ kind }) => kind !== "admitted" && kind !== "stepped");
    if (wrong) throw new Error(`the store refused a mutation: ${JSON.stringify(wrong)}`);
  };
  const play = async (size: number): Promise<Batched> => {
    await bed.ready();
    const mutations = mixed(tenants, Math.max(lives, size * 2), size);
    const node = openCpu(() => [process.pid]);
    const database = openCpu(bed.databasePids);
    const before = await bed.counted();
    const writtenBefore = writtenBytes();
    const took: number[] = [];
    for (let at = 0; at < mutations.length; at += size) {
      const fromMono = performance.now();
      await commit(mutations.slice(at, at + size));
      took.push(performance.now() - fromMono);
    }
    const [nodeNs, databaseNs] = [node().all, database().all];
    const after = await bed.counted();
    return {
      ...{
        mutationsEach: size,
        batches: took.length,
        mutations: mutations.length,
        nodeCpuMs: nodeNs / 1e6,
        databaseCpuMs: databaseNs / 1e6,
      },
      logBytes: bed.name === "sqlite" ? writtenBytes() - writtenBefore : after.logBytes - before.logBytes,
      ...{ pageImages: after.pageImages - before.pageImages, wallMs: median(took) },
    };
  };
  const measured: Batched[] = [];
  await play(sizes[0] ?? 1);
  for (const size of sizes) {
    const rounds: Batched[] = [];
    for (let round = 0; round < ROUNDS; round += 1) rounds.push(await play(size));
    const [least] = rounds.sort((a, b) => cpuOf(a) - cpuOf(b));
    if (!least) throw new Error("no round was measured");
    measured.push(least);
    report(
      `${bed.name}: batches of ${size}: ${least.wallMs.toFixed(2)} ms each, ${(cpuOf(least) / least.batches).toFixed(2)} ms of a core` +
        ` (${rounds.map((one) => (cpuOf(one) / one.batches).toFixed(2)).join(", ")})`,
    );
  }
  await store.close();
  return measured;
};
