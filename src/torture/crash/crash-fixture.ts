// Fixture of a crash test: simulator, service, database and accounts with credits.
import { hashApiKey, newApiKey, newId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/types.ts";
import { settingsLeadingTo } from "../../simulator/dialect-registry.ts";
import type { Rule } from "../../simulator/fault-script.ts";
import type { LogLine, Submission } from "../../simulator/log.ts";
import type { JobView } from "../../simulator/simulator.ts";
import { openSqliteStore } from "../../store/sqlite/client.ts";
import { openSqliteReads } from "../../store/sqlite/reads.ts";
import type { Store, StoreReads } from "../../store/store.ts";
import { sharedCatalogue } from "./catalogue.ts";
import { type Child, type Genrouter, start } from "./processes.ts";

/** `credits`: the sum that the account received, which the audit compares at the end. */
export type Tenant = { accountId: string; accountSeq: number; key: string; credits: number };

/** The database of a service: its data directory, or the URL of a shared database. */
export type DatabaseLocation = string;
export const isShared = (database: DatabaseLocation) => database.startsWith("postgres://");

/** Opens the store as a service does. */
const openDatabase = async (database: DatabaseLocation): Promise<Store> => {
  if (!isShared(database)) return await openSqliteStore({ dir: database, mode: "test" });
  const { openPostgresStore } = await import("../../store/postgres/client.ts");
  return await openPostgresStore({ url: database, prepare: true, readers: 1, mode: "test" });
};

/** Creates accounts directly in the store. With a data directory no service may be running. */
export const endow = async (database: DatabaseLocation, credits: readonly number[]): Promise<Tenant[]> => {
  const store = await openDatabase(database);
  const tenants: Tenant[] = [];
  const atMs = Date.now();
  for (const amount of credits) {
    const accountId = newId("acc");
    const key = newApiKey("test");
    await store.commit([{ mutation: "create-account", id: accountId, name: "crash", atMs }]);
    const accountSeq = (await store.account(accountId))?.seq ?? 0;
    const hash = hashApiKey(key);
    await store.commit([
      { mutation: "credit", accountSeq, kind: "topup", credits: amount, note: "crash", reference: null, atMs },
      { mutation: "create-key", id: newId("key"), accountSeq, scope: "generate", name: "", hash, start: key.slice(0, 12), atMs },
    ]);
    tenants.push({ accountId, accountSeq, key, credits: amount });
  }
  await store.close();
  return tenants;
};

/** Adds credits to some accounts and updates their expected sum. */
export const topUp = async (database: DatabaseLocation, tenants: readonly Tenant[], credits: number): Promise<void> => {
  const store = await openDatabase(database);
  for (const tenant of tenants) {
    const { accountSeq } = tenant;
    await store.commit([
      { mutation: "credit", accountSeq, kind: "topup", credits, note: "crash", reference: null, atMs: Date.now() },
    ]);
    tenant.credits += credits;
  }
  await store.close();
};

/** Opens a connection that only reads, whether a service is running or not. */
export const openReads = async (database: DatabaseLocation): Promise<StoreReads> => {
  if (!isShared(database)) return await openSqliteReads(database);
  const { openPostgresReads } = await import("../../store/postgres/read-only-client.ts");
  return await openPostgresReads({ url: database, prepare: true });
};

/** Reads the store, whether a service is running or not. */
export const reading = async <T>(database: DatabaseLocation, work: (reads: StoreReads) => Promise<T>): Promise<T> => {
  const reads = await openReads(database);
  try {
    return await work(reads);
  } finally {
    await reads.close();
  }
};

export type SimulatorProcess = {
  child: Child;
  url: string;
  rule(...rules: Rule[]): Promise<void>;
  clearRules(): Promise<void>;
  lines(): Promise<LogLine[]>;
  submissions(containing: string): Promise<Submission[]>;
  jobs(): Promise<JobView[]>;
};

export type SimulatorPlace = { port: number; speed: number; log: string; seed?: number };

export const startSimulator = async (genrouter: Genrouter, at: SimulatorPlace): Promise<SimulatorProcess> => {
  const flags = { port: at.port, speed: at.speed, log: at.log, seed: at.seed ?? 1 };
  const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = start([...genrouter, "simulator", ...words]);
  const url = (await child.hears(/^simulator (\S+)$/m))[1] ?? "";
  const lines = async () => {
    const text = await (await fetch(`${url}/log`)).text();
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as LogLine);
  };
  return {
    child,
    url,
    rule: async (...rules) => {
      const answer = await fetch(`${url}/script`, { method: "POST", body: JSON.stringify(rules) });
      if (answer.status !== 201) throw new Error(`the simulator refused a rule: ${await answer.text()}`);
    },
    clearRules: async () => void (await fetch(`${url}/script`, { method: "DELETE" })),
    lines,
    submissions: async (containing) =>
      (await lines()).filter(
        (line): line is Submission => line.type === "submission" && JSON.stringify(line.input).includes(containing),
      ),
    jobs: async () => ((await (await fetch(`${url}/jobs`)).json()) as { jobs: JobView[] }).jobs,
  };
};

export type ServiceProcess = { child: Child; url: string };
export type ServicePlace = {
  dir: string;
  simulatorUrl: string;
  speed: number;
  /** 0 uses a free port. */
  port?: number;
  /** Additional settings. */
  env?: Record<string, string>;
};

const serviceEnv = ({ dir, simulatorUrl, speed, port = 0, env = {} }: ServicePlace): Record<string, string> => ({
  GENROUTER_DATA__DIR: dir,
  GENROUTER_CATALOGUE__DIR: env.GENROUTER_CATALOGUE__DIR ?? sharedCatalogue(),
  GENROUTER_SERVER__PORT: String(port),
  GENROUTER_SIMULATOR__SPEED: String(speed),
  ...settingsLeadingTo(simulatorUrl),
  GENROUTER_LIMITS__BURST_PER_S: "100000",
  // Without it a service restarts itself in place to set it, which would take half of each short run.
  BUN_CONFIG_MAX_HTTP_REQUESTS: "4096",
  ...env,
});

/** Starts a service with the given command line. Does not wait. */
export const spawnServing = (command: readonly string[], place: ServicePlace): Child => start(command, serviceEnv(place));

/** Starts `genrouter serve`. Does not wait. */
export const spawnService = (genrouter: Genrouter, place: ServicePlace): Child =>
  spawnServing([...genrouter, "serve", "--simulate"], place);

/** Waits until a service listens. */
export const listening = async (child: Child): Promise<ServiceProcess> => ({
  child,
  url: (await child.hears(/^url (\S+)$/m))[1] ?? "",
});

/** Starts `genrouter serve`, and waits until it listens. */
export const startService = (genrouter: Genrouter, place: ServicePlace): Promise<ServiceProcess> =>
  listening(spawnService(genrouter, place));

/** The longest wait for a response. */
const PATIENCE_MS = 10_000;

/** `method`: default POST with a body, and GET without one. */
export type AskedRequest = {
  path: string;
  method?: "DELETE" | "POST";
  body?: string;
  idempotencyKey?: string;
  headers?: Record<string, string>;
  patienceMs?: number;
};
export type Answer = { status: number; body: JsonObject };
/** One request on a separate connection. Undefined if the service was not available or ended before its response. */
export const ask = async (url: string, key: string, about: AskedRequest): Promise<Answer | undefined> => {
  try {
    const response = await fetch(`${url}${about.path}`, {
      method: about.method ?? (about.body === undefined ? "GET" : "POST"),
      headers: {
        authorization: `Bearer ${key}`,
        connection: "close",
        ...(about.idempotencyKey === undefined ? {} : { "idempotency-key": about.idempotencyKey }),
        ...about.headers,
      },
      ...(about.body === undefined ? {} : { body: about.body }),
      signal: AbortSignal.timeout(about.patienceMs ?? PATIENCE_MS),
    });
    // A response without a body counts as well. If its status is 200, the audit finds no such generation.
    return { status: response.status, body: ((await response.json()) ?? {}) as JsonObject };
  } catch {
    return undefined;
  }
};
