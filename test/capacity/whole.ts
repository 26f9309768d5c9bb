// Measures the cost of whole generations: the real service in a separate process, with submissions at a steady rate.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Lives, MeasuredStore, Polls, Tables } from "../../src/cli/capacity/measured.ts";
import { entry, FROM_SOURCES } from "../../src/torture/crash/processes.ts";
import { openCpu } from "../bench/machine.ts";
import { seatedOn } from "../bench/provided.ts";
import { endowIn, startService, type Tenant } from "../bench/service.ts";
import { bodyOf, ON_FAL, type Provider, withProvider } from "../bench/upstream.ts";
import type { Bed } from "./fixtures.ts";

const ACCOUNTS = 50;
const LOOK_MS = 50;
const IN_FLIGHT = 256;
const POLLERS = 32;
/** The warm-up as a share of the measured generations, until hot code is compiled. Later compile time is subtracted. */
const WARM_PART = 1;

type Node = { url: string; pid: number };

const ask = async (url: string, key: string, body?: string): Promise<{ status: number; text: string }> => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": crypto.randomUUID() };
  const response = await fetch(url, body === undefined ? { headers } : { method: "POST", headers, body });
  return { status: response.status, text: await response.text() };
};

/** Submits at a rate and waits until all generations have ended. @returns their ids with the keys that can poll them. */
const live = async (bed: Bed, node: Node, tenants: readonly Tenant[], count: number, perS: number) => {
  const made: { id: string; key: string }[] = [];
  let going: Promise<void>[] = [];
  const fromMono = performance.now();
  for (let n = 0; n < count; n += 1) {
    const dueMs = fromMono + (n / perS) * 1000 - performance.now();
    if (dueMs > 1) await Bun.sleep(dueMs);
    const { key } = tenants[n % tenants.length] ?? { key: "" };
    going.push(
      ask(`${node.url}/v1/generations`, key, bodyOf(ON_FAL)).then(({ status, text }) => {
        if (status !== 202) throw new Error(`a submission returned ${status}: ${text.slice(0, 200)}`);
        made.push({ id: (JSON.parse(text) as { id: string }).id, key });
      }),
    );
    if (going.length < IN_FLIGHT) continue;
    await Promise.all(going);
    going = [];
  }
  await Promise.all(going);
  while ((await bed.inFlight()) > 0) await Bun.sleep(LOOK_MS);
  return made;
};

const poll = async (node: Node, made: readonly { id: string; key: string }[], count: number): Promise<void> => {
  let next = 0;
  const one = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) {
      const { id, key } = made[n % made.length] ?? { id: "", key: "" };
      const { status } = await ask(`${node.url}/v1/generations/${id}`, key);
      if (status !== 200) throw new Error(`a poll returned ${status}`);
    }
  };
  await Promise.all(Array.from({ length: POLLERS }, one));
};

const envOf = (bed: Bed, provider: Provider) => ({ ...seatedOn(provider, [ON_FAL]), ...bed.env });
/** A service that counts its mutations. */
const COUNTING = entry(join(import.meta.dir, "counting-service.ts"));
const COUNTED_LIVES = 60;

/** The mutations of a generation, on average. A separate process counts them, so that its cost is not measured. */
const mutationsEach = async (bed: Bed, tenants: readonly Tenant[], provider: Provider, perS: number): Promise<number> => {
  const countFile = `${bed.dir}.mutations`;
  const env = { ...envOf(bed, provider), COUNT_FILE: countFile };
  const node = await startService({ dir: bed.dir, env, genrouter: COUNTING, isPinned: false, lookMs: 50 });
  await live(bed, node, tenants, COUNTED_LIVES, perS);
  await node.stop();
  return Number(readFileSync(countFile, "utf8")) / COUNTED_LIVES;
};

type Ask = { lives: number; looks: number; perS: number; polls: number; report: (line: string) => void };

const onProvider = async (
  bed: Bed,
  tenants: readonly Tenant[],
  provider: Provider,
  { lives, looks, perS, polls, report }: Ask,
) => {
  const env = envOf(bed, provider);
  const start = (dir: string) => startService({ dir, env, genrouter: FROM_SOURCES, isPinned: false, lookMs: 50 });
  const each = await mutationsEach(bed, tenants, provider, perS);
  const node = await start(bed.dir);
  await live(bed, node, tenants, Math.ceil(lives * WARM_PART), perS);
  await bed.ready();
  const tables = await bed.tables();
  const before = await bed.counted();
  const cpu = openCpu(() => [node.pid]);
  const database = openCpu(bed.databasePids);
  const made = await live(bed, node, tenants, lives, perS);
  const [{ all: nodeNs, compiler }, { all: databaseNs }] = [cpu(), database()];
  const after = await bed.counted();
  const tablesAfter = await bed.tables();
  const reported: Lives = {
    ...{
      generations: lives,
      polls: looks,
      mutations: Math.round(lives * each),
      transactions: after.transactions - before.transactions,
    },
    ...{ nodeCpuMs: (nodeNs - compiler) / 1e6, databaseCpuMs: databaseNs / 1e6, logBytes: after.logBytes - before.logBytes },
    residentBytes: node.residentBytes(),
  };
  report(
    `${bed.name}: ${lives} generations, ${looks} looks each: ${((nodeNs - compiler) / 1e6 / lives).toFixed(2)} ms of a core each, and ${((compiler / nodeNs) * 100).toFixed(1)} % more of compiling`,
  );
  const polled: Polls[] = [];
  const measure = async (at: Node, elsewhere: boolean) => {
    await poll(at, made, Math.ceil(polls / 4));
    cpu();
    const its = openCpu(() => [at.pid]);
    database();
    await poll(at, made, polls);
    polled.push({ polls, elsewhere, nodeCpuMs: its().all / 1e6, databaseCpuMs: database().all / 1e6 });
    report(
      `${bed.name}: ${polls} polls${elsewhere ? " at another node" : ""}: ${(((polled.at(-1)?.nodeCpuMs ?? 0) / polls) * 1000).toFixed(0)} µs each`,
    );
  };
  if (polls > 0) {
    await measure(node, false);
    if (bed.name === "postgres") {
      const dir = `${bed.dir}-other`;
      mkdirSync(dir, { recursive: true });
      const other = await start(dir);
      await measure(other, true);
      await other.stop();
    }
  }
  await node.stop();
  await bed.ready();
  return { reported, polled, tables: differences(tables, tablesAfter) };
};

const differences = (before: Tables, after: Tables): Tables =>
  Object.fromEntries(
    Object.entries(after)
      .map(([name, { rows, bytes, indexBytes }]): [string, Tables[string]] => {
        const was = before[name] ?? { rows: 0, bytes: 0, indexBytes: 0 };
        return [name, { rows: rows - was.rows, bytes: bytes - was.bytes, indexBytes: indexBytes - was.indexBytes }];
      })
      .filter(([, { rows, bytes }]) => rows > 0 || bytes > 0),
  );

/** Creates accounts with credits in the store. */
const endowed = async (bed: Bed): Promise<Tenant[]> => {
  const store = await bed.open();
  const tenants = await endowIn(store, ACCOUNTS);
  await store.close();
  return tenants;
};

/** Measures the rows of a few generations, without times. */
export const measureRows = async (bed: Bed, lives: number, perS: number): Promise<{ lives: Lives; tables: Tables }> => {
  const tenants = await endowed(bed);
  const ask = { lives, looks: 1, perS, polls: 0, report: () => undefined };
  const { reported, tables } = await withProvider((provider) => onProvider(bed, tenants, provider, ask));
  return { lives: reported, tables };
};

const MORE_LOOKS = 11;

/** Measures generations whose jobs are done at the first poll, generations with more polls, and polls of the API. */
export const measureWhole = async (
  bed: Bed,
  lives: number,
  perS: number,
  polls: number,
  report: (line: string) => void,
): Promise<Omit<MeasuredStore, "batches">> => {
  const tenants = await endowed(bed);
  const first = await withProvider((provider) => onProvider(bed, tenants, provider, { lives, looks: 1, perS, polls, report }));
  const ask = { lives: Math.ceil(lives / 2), looks: MORE_LOOKS, perS, polls: 0, report };
  const more = await withProvider((provider) => onProvider(bed, tenants, provider, ask), MORE_LOOKS);
  return { lives: [first.reported, more.reported], polls: first.polled, tables: first.tables };
};
