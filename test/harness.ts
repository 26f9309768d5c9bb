// The whole service in one call: real components, real HTTP, the simulator behind real sockets, and a fast clock.

import { expect } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Catalogue } from "../catalogue/load.ts";
import type { AdminService } from "../src/admin/admin-service.ts";
import { dropScratch } from "./scratch.ts";
// Loaded with the harness, so that no request of a test waits for its code.
import "../src/admin/admin-service.ts";
import { createComponentList } from "../src/app/component-list.ts";
import { createComponents } from "../src/app/server.ts";
import type { Components, ComponentsDeps } from "../src/app/service-types.ts";
import { createNightly } from "../src/backup/nightly.ts";
import { readSettings } from "../src/config/load.ts";
import { hashApiKey, newApiKey, newId } from "../src/domain/ids.ts";
import type { Json, JsonObject, KeyScope } from "../src/domain/types.ts";
import { createResultStorage, type ResultStorage } from "../src/files/create-storage.ts";
import type { Files } from "../src/files/port.ts";
import { createStuck } from "../src/generations/stuck.ts";
import type { EventFields, EventName } from "../src/logging/events.ts";
import { type Dialects, readDialects } from "../src/providers/dialect/load.ts";
import { providerFacts } from "../src/providers/providers.ts";
import { createVault } from "../src/providers/vault.ts";
import { createInventory } from "../src/routing/inventory.ts";
import { defaultsOf, kindsOf } from "../src/simulator/embedded.ts";
import { createSimulator, type Simulator, type SimulatorOptions } from "../src/simulator/simulator.ts";
import { LINEAGE, lineageFrom } from "../src/store/sqlite/database-id.ts";
import type { Pragmas } from "../src/store/sqlite/open.ts";
import type { Store } from "../src/store/store.ts";
import { type TestClock, testClock } from "./clock.ts";
import { eventually } from "./eventually.ts";
import { addressesOf, countRows, watchFiles } from "./harness-deps.ts";
import { sampleCatalogue } from "./sample/catalogue.ts";
import { sandboxUnder, testSandbox } from "./sandbox.ts";
import { watchLoop } from "./stall/harness.ts";
import { openDirectory, openHere } from "./store/open-store.ts";
import { testTelemetry } from "./telemetry/open-telemetry.ts";

export type Tenant = { accountId: string; accountSeq: number; key: string; keyId: string };
export type ParsedResponse = { status: number; headers: Headers; body: JsonObject & { [key: string]: Json }; text: string };
/** A generation as the API shows it. */
export type GenerationResource = {
  id: string;
  status: string;
  message?: string;
  output: { urls: string[]; width?: number; height?: number; duration_s?: number; has_audio?: boolean } | null;
  quoted_usd: number;
  reserved_usd: number | null;
  cost_usd: number | null;
  attempts: number;
  error: { code: string; message: string } | null;
  created_at: string;
  completed_at: string | null;
};

/** A response and its request. */
export type ReceivedResponse = { method: string; path: string; status: number; headers: Headers; text: string };

export type HarnessOptions = {
  /** Settings as environment names, e.g. `{ GENROUTER_LIMITS__MAX_RUNNING: "1" }`. */
  env?: Record<string, string>;
  catalogue?: Catalogue;
  /** Providers with a key; fal and Replicate by default. */
  providers?: readonly string[];
  /** Speed of the clock relative to real time; with 0 time stops until `clock.skip`. */
  factor?: number;
  /** Keeps all data in this directory instead of in memory, so that a test can open the harness again. */
  dir?: string;
  /** A simulator that outlives the harness. */
  simulator?: Simulator;
  simulate?: SimulatorOptions;
  clock?: TestClock;
  callTimes?: { submitMs?: number; pollMs?: number; findMs?: number; cancelMs?: number; uploadMs?: number };
  /** Stops before recovery, so that the service is still `restarting`. */
  unrecovered?: true;
  /** Wraps the store, e.g. to delay its commits. */
  around?: (store: Store) => Store;
  /** Wraps the result files, e.g. for a disk that fails. */
  aroundFiles?: (files: Files) => Files;
  /** `thread`: the store as in production, on disk and written by a separate thread. */
  writer?: "thread";
  /** One of several nodes: the shared store, the address of the proxy, and the shared log lines. */
  node?: { store: Store; front: string; lines: Harness["lines"] };
  /** Settings of the database, e.g. `{ maxPages: 200 }` for a disk that fills. */
  pragmas?: Partial<Pragmas>;
  /** Keeps result files as one of several nodes does. */
  shared?: boolean;
  /** Replaces dependencies for media. */
  media?: ComponentsDeps["media"];
  /** Replaces dependencies of webhook tries. */
  webhooks?: ComponentsDeps["webhooks"];
  /** Time limit and certificate authority of mail. */
  mail?: ComponentsDeps["mail"];
  /** Cost of password hashes, cheap unless given. */
  passwordCost?: { memoryCost: number; timeCost: number };
  /** Receives every response. */
  onResponse?: (answer: ReceivedResponse) => void;
};

export type Harness = {
  url: string;
  /** Data directory of this node. */
  dataDir: string;
  /** The address of this node, without the proxy. */
  nodeUrl: string;
  clock: TestClock;
  simulator: Simulator;
  components: Components;
  /** The admin service. */
  admin(): Promise<AdminService>;
  /** Files on disk that wait for the upload to the bucket. */
  waiting: ResultStorage["waiting"];
  store: Store;
  tenant: Tenant;
  lines: { event: EventName; fields: EventFields }[];
  /** Creates an account with credits and a key. */
  newTenant(credits?: number, scope?: KeyScope): Promise<Tenant>;
  /** Sends a request, with the tenant's key unless another is given. */
  request(
    method: string,
    path: string,
    more?: { body?: unknown; key?: string | null; headers?: Record<string, string> },
  ): Promise<ParsedResponse>;
  /** Submits and expects 202. */
  submit(model: string, input: JsonObject, more?: JsonObject): Promise<GenerationResource>;
  show(id: string, key?: string): Promise<GenerationResource>;
  /** Polls until the generation has ended, or `reached` holds. */
  until(id: string, reached?: (shown: GenerationResource) => boolean, key?: string): Promise<GenerationResource>;
  /** Calls a function repeatedly, while everything else continues, until it returns a truthy value. */
  eventually: typeof eventually;
  balance(tenant?: Tenant): Promise<{ available: number; held: number; charged: number; inProgress: number }>;
  /** Waits until every node has received the changes of the others. */
  synchronize(): Promise<void>;
  /** Number of nodes. */
  nodes: number;
  /** The row count of every table. */
  countRows(): Promise<JsonObject>;
  /** Expects that the thirteen invariants hold. */
  verify(): Promise<void>;
  /** Stops as in a crash: the harness does not drain and does not verify. */
  crash(): Promise<void>;
  /** Verifies, then closes everything. */
  close(): Promise<void>;
};

const quiet: Record<string, string> = { GENROUTER_LIMITS__BURST_PER_S: "100000", GENROUTER_LIMITS__IN_PROGRESS: "1000" };
const WRITERS_MS = 1000;
/** Hundreds of users sign in during the tests, and a real hash takes 25 to 50 ms of a core. */
export const CHEAP_PASSWORDS = { memoryCost: 8, timeCost: 1 };

let builtIn: Dialects | undefined;
/** Compiled once in a process; the service compiles them once at its start. */
const builtInDialects = (): Dialects => {
  builtIn ??= readDialects(null);
  return builtIn;
};

export const openHarness = (options: HarnessOptions = {}): Promise<Harness> => watchLoop(() => open(options));

const open = async (options: HarnessOptions): Promise<Harness> => {
  const clock = options.clock ?? testClock(options.factor ?? 100);
  const catalogue = options.catalogue ?? sampleCatalogue();
  const endpoints = { kindOf: kindsOf(() => catalogue), unsaid: defaultsOf(() => catalogue) };
  void testSandbox.held();
  const simulator =
    options.simulator ?? (await createSimulator({ clock, sandbox: sandboxUnder(clock), ...endpoints, ...options.simulate }));
  const host = new URL(simulator.url).host;
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), "harness-"));
  const settings = readSettings({
    ...quiet,
    ...addressesOf(simulator, options.providers),
    GENROUTER_MEDIA__ALLOW: host,
    GENROUTER_DATA__DIR: dir,
    ...options.env,
  });
  const path = options.dir ? join(dir, "genrouter.db") : ":memory:";
  const { around = (inner) => inner, aroundFiles = (inner) => inner, pragmas = {}, media } = options;
  const lowBalanceCredits = settings.credits.low_balance_alert_usd * 100;
  let wasVerified = false;
  const isVerified = () => wasVerified;
  const store = around(
    options.node
      ? options.node.store
      : options.writer === "thread"
        ? await openDirectory({ dir, mode: "test", pragmas, isVerified, lowBalanceCredits })
        : await openHere({ path, mode: "test", nowMs: clock.nowMs(), pragmas, isVerified, lowBalanceCredits }),
  );
  const lines: Harness["lines"] = options.node?.lines ?? [];
  const telemetry = testTelemetry((event, fields = {}) => void lines.push({ event, fields }));
  const { log } = telemetry;
  const kept = await createResultStorage({ settings, clock, log, store, shared: options.shared ?? options.node !== undefined });
  const watched = watchFiles(kept.files);
  const dialects = builtInDialects();
  const backups = createNightly({ settings, clock, log, version: "0.1.0", lineage: lineageFrom(await store.secret(LINEAGE)) });
  const list = createComponentList();
  const components: Components = await createComponents(list, {
    settings,
    clock,
    telemetry,
    log,
    store,
    storage: { ...kept, files: aroundFiles(watched.files) },
    catalogue,
    dialects,
    pace: 1,
    vault: createVault(dir, store.nodes !== null),
    inventory: createInventory({
      settings: () => settings,
      simulated: false,
      facts: providerFacts(dialects),
      reads: store,
      catalogue: () => catalogue,
    }),
    stuck: createStuck(log),
    backups,
    unknownOutcome: () => lines.push({ event: "commit outcome unknown", fields: {} }),
    ...(options.callTimes ? { callTimes: options.callTimes } : {}),
    media: { sandbox: sandboxUnder(clock), ...media },
    ...(options.webhooks ? { webhooks: options.webhooks } : {}),
    ...(options.mail ? { mail: options.mail } : {}),
    passwordCost: options.passwordCost ?? CHEAP_PASSWORDS,
  });
  const listening = await components.http.listen({ host: "127.0.0.1", port: 0 });
  const url = options.node?.front ?? listening.url;
  components.address.listensAt(url);
  if (!options.unrecovered) {
    await components.recover();
    await components.leaseKeeper?.begin();
    kept.begin();
  }

  const newTenant = async (credits = 100_000, scope: KeyScope = "generate"): Promise<Tenant> => {
    const atMs = clock.nowMs();
    const accountId = newId("acc");
    await components.post({ mutation: "create-account", id: accountId, name: "tenant", atMs });
    const accountSeq = (await store.account(accountId))?.seq ?? 0;
    if (credits > 0)
      await components.post({ mutation: "credit", accountSeq, kind: "topup", credits, note: "test", reference: null, atMs });
    const key = newApiKey("test");
    const keyId = newId("key");
    await components.post({
      mutation: "create-key",
      id: keyId,
      accountSeq,
      scope,
      name: "",
      hash: hashApiKey(key),
      start: key.slice(0, 12),
      atMs,
    });
    return { accountId, accountSeq, key, keyId };
  };
  const tenant = await newTenant();

  const request: Harness["request"] = async (method, path, { body, key = tenant.key, headers = {} } = {}) => {
    const first = await fetch(`${url}${path}`, {
      method,
      headers: { ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      redirect: "manual",
    });
    options.onResponse?.({ method, path, status: first.status, headers: first.headers, text: await first.clone().text() });
    // The files of several nodes are in a bucket, and clients follow the redirect without their key.
    const there = options.node && first.status === 302 ? first.headers.get("location") : null;
    const response = there === null ? first : await fetch(there, { method, headers });
    const text = await response.text();
    let parsed: JsonObject = {};
    try {
      parsed = JSON.parse(text) as JsonObject;
    } catch {
      parsed = {};
    }
    return { status: response.status, headers: response.headers, body: parsed, text };
  };
  const show = async (id: string, key = tenant.key): Promise<GenerationResource> => {
    const answered = await request("GET", `/v1/generations/${id}`, { key });
    expect(answered.status).toBe(200);
    return answered.body as unknown as GenerationResource;
  };
  let isClosed = false;
  const closeAll = async () => {
    if (isClosed) return;
    isClosed = true;
    await backups.stop(10_000);
    await list.stop();
    await kept.stop();
    if (!options.simulator) await simulator.stop();
    if (!options.clock) clock.stop();
    await store.close();
    if (options.dir) return;
    // A file that is still written would create the directory again. The wait is bounded, because a test can block a file.
    const endMono = performance.now() + WRITERS_MS;
    while (!watched.isIdle() && performance.now() < endMono) await new Promise((wake) => setTimeout(wake, 2));
    dropScratch(dir);
  };
  const verify = async () => {
    const broken = (await store.verify(clock.nowMs())).filter((check) => !check.ok);
    expect(broken).toEqual([]);
  };
  return {
    url,
    nodeUrl: listening.url,
    dataDir: dir,
    clock,
    simulator,
    components,
    admin: components.admin,
    waiting: kept.waiting,
    store,
    tenant,
    lines,
    newTenant,
    request,
    submit: async (model, input, more = {}) => {
      const answered = await request("POST", "/v1/generations", { body: { model, input, ...more } });
      if (answered.status !== 202) throw new Error(`submission answered ${answered.status} ${answered.text}`);
      return answered.body as unknown as GenerationResource;
    },
    show,
    eventually,
    until: (id, reached = (shown) => shown.status === "succeeded" || shown.status === "failed", key = tenant.key) =>
      eventually(async () => {
        const shown = await show(id, key);
        return reached(shown) && shown;
      }, `generation ${id}`),
    balance: async (of = tenant) => {
      const account = await store.account(of.accountId);
      if (!account) throw new Error(`no account ${of.accountId}`);
      const { availableCredits, heldCredits, chargedCredits, inProgress } = account;
      return { available: availableCredits, held: heldCredits, charged: chargedCredits, inProgress };
    },
    synchronize: async () => undefined,
    nodes: 1,
    countRows: async () => countRows(path),
    verify,
    crash: closeAll,
    close: async () => {
      if (!isClosed) {
        await verify();
        wasVerified = true;
      }
      await closeAll();
    },
  };
};
