// The fuzzed service: complete, in a separate process, with its store on disk, a writer thread and a fast clock.
import { join } from "node:path";
import type { KeyScope } from "../../src/domain/types.ts";
import { settingsLeadingTo } from "../../src/simulator/dialect-registry.ts";
import { kindsOf } from "../../src/simulator/embedded.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { type Harness, openHarness, type Tenant } from "../harness.ts";
import { sampleCatalogue } from "../sample/catalogue.ts";
import { killAtTheEnd } from "../scratch.ts";

/** Credentials that no response may contain. */
const PROVIDER_KEYS = {
  GENROUTER_PROVIDERS__FAL__KEY: "provider-canary-fal-92d1",
  GENROUTER_PROVIDERS__REPLICATE__KEY: "provider-canary-replicate-92d1",
};
/** Seconds pass in milliseconds, so a commit in real time would look slow. */
const NEVER_BUSY = { GENROUTER_LIMITS__SLOW_COMMIT_MS: "100000000", GENROUTER_LIMITS__MAX_PENDING_SUBMISSIONS: "100000" };
const TIMES_LIFE = 100;
const HALF_AN_HOUR_MS = 1_800_000;

/** `cpuS`: CPU time of the process since its start. */
export type Rested = { faults: string[]; rssMb: number; cpuS: number };
export type Served = {
  url: string;
  simulatorUrl: string;
  database: string;
  tenant(credits: number, scope: KeyScope): Promise<Tenant>;
  pause(tenant: Tenant): Promise<void>;
  revoke(keyId: string): Promise<void>;
  /** Advances time until every generation has ended, verifies the store, and returns the memory. */
  rest(): Promise<Rested>;
  close(): Promise<void>;
};

const restOf = async (harness: Harness): Promise<Rested> => {
  const faults: string[] = [];
  for (let turn = 0; (await harness.store.unfinished(0, 1)).length > 0; turn++) {
    if (turn === 2_000) return { faults: ["generations do not end"], rssMb: 0, cpuS: 0 };
    harness.clock.skip(HALF_AN_HOUR_MS);
    await Bun.sleep(10);
  }
  for (const { invariant, name, ok, offending } of await harness.store.verify(harness.clock.nowMs()))
    if (!ok) faults.push(`invariant ${invariant} ${name}: ${JSON.stringify(offending.slice(0, 3))}`);
  for (const { event, fields } of harness.lines)
    if (event === "request failed" || event === "generation parked") faults.push(`logged: ${event} ${JSON.stringify(fields)}`);
  harness.lines.length = 0;
  Bun.gc(true);
  const { user, system } = process.cpuUsage();
  return { faults, rssMb: process.memoryUsage.rss() / 1_048_576, cpuS: (user + system) / 1e6 };
};

/** A simulator for a service in another process, as fast as the service's clock. */
const openOutside = () => {
  const catalogue = sampleCatalogue();
  return createSimulator({ speed: TIMES_LIFE, kindOf: kindsOf(() => catalogue) });
};

/** Opens the service on a directory, in this process. */
export const openServed = async (dir: string, simulatorUrl?: string): Promise<Served> => {
  const env = {
    ...(simulatorUrl === undefined ? {} : settingsLeadingTo(simulatorUrl)),
    ...PROVIDER_KEYS,
    ...NEVER_BUSY,
    GENROUTER_LIMITS__IN_PROGRESS: "1000000",
    GENROUTER_LIMITS__MAX_RUNNING: "32",
  };
  const harness = await openHarness({ dir, writer: "thread", factor: TIMES_LIFE, env });
  return {
    url: harness.url,
    simulatorUrl: simulatorUrl ?? harness.simulator.url,
    database: join(dir, "genrouter.db"),
    tenant: (credits, scope) => harness.newTenant(credits, scope),
    pause: async ({ accountSeq }) => {
      await harness.components.post({ mutation: "set-account", accountSeq, paused: true });
    },
    revoke: async (keyId) => {
      await harness.components.post({ mutation: "revoke-key", keyId, atMs: harness.clock.nowMs() });
    },
    rest: () => restOf(harness),
    close: () => harness.crash(),
  };
};

type Ask = { n: number; verb: "tenant" | "pause" | "revoke" | "rest" | "close"; words: unknown[] };
type Reply = { n: number; answer?: unknown; fault?: string };

/** The child side of `spawnServed`: opens the service and performs the parent's commands. */
export const serveOverIpc = async (dir: string, simulator: string): Promise<void> => {
  const served = await openServed(dir, simulator);
  const report = (reported: Reply) => process.send?.(reported);
  process.on("message", (message) => {
    const { n, verb, words } = message as Ask;
    const work = served[verb] as (...words: unknown[]) => Promise<unknown>;
    work(...words).then(
      (answer) => report({ n, answer }),
      (fault: unknown) => report({ n, fault: String(fault) }),
    );
  });
  // Ctrl-C reaches both processes, and only the parent handles it.
  process.on("SIGINT", () => undefined);
  // The parent has exited.
  process.on("disconnect", () => process.exit(0));
  const { url, simulatorUrl, database } = served;
  report({ n: 0, answer: { url, simulatorUrl, database } });
};

/** Starts the service in a separate process; `fell` is called if it exits unexpectedly. */
export const spawnServed = async (dir: string, fell: (code: number | null) => void): Promise<Served> => {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let asked = 0;
  let isClosing = false;
  const expect = (n: number) => {
    const promise = Promise.withResolvers<unknown>();
    waiting.set(n, promise);
    return promise.promise;
  };
  const opened = expect(0);
  const simulator = await openOutside();
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "main.ts"), "--serve", dir, "--simulator", simulator.url], {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    serialization: "json",
    ipc: (message) => {
      const { n, answer, fault } = message as Reply;
      const promise = waiting.get(n);
      waiting.delete(n);
      if (fault === undefined) promise?.resolve(answer);
      else promise?.reject(new Error(fault));
    },
    onExit: (_child, code) => {
      for (const promise of waiting.values()) promise.reject(new Error(`the service ended with ${code}`));
      if (!isClosing) fell(code);
    },
  });
  killAtTheEnd(() => child.kill("SIGKILL"));
  const ask = async <T>(verb: Ask["verb"], ...words: unknown[]): Promise<T> => {
    asked += 1;
    const answer = expect(asked);
    child.send({ n: asked, verb, words } satisfies Ask);
    return (await answer) as T;
  };
  const facts = (await opened) as Pick<Served, "url" | "simulatorUrl" | "database">;
  return {
    ...facts,
    tenant: (credits, scope) => ask("tenant", credits, scope),
    pause: (tenant) => ask("pause", tenant),
    revoke: (keyId) => ask("revoke", keyId),
    rest: () => ask("rest"),
    close: async () => {
      isClosing = true;
      await ask("close");
      child.kill("SIGKILL");
      await child.exited;
      await simulator.stop();
    },
  };
};
