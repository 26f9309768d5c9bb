// An HTTP server on a real port with small working dependencies: records in a map, files on disk, signed links.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ModelEntry } from "../../catalogue/public-model.ts";
import { readSettings } from "../../src/config/load.ts";
import { refuse } from "../../src/domain/api-errors.ts";
import type { Clock } from "../../src/domain/clock.ts";
import { createCursors } from "../../src/domain/cursors.ts";
import { generationId, hashApiKey, newApiKey } from "../../src/domain/ids.ts";
import type { Caller, GenerationRecord } from "../../src/domain/types.ts";
import type { Prepared } from "../../src/event-streams/event-streams.ts";
import { createInputCopies } from "../../src/files/input-copies.ts";
import { createLocalStorage } from "../../src/files/local.ts";
import type { Files } from "../../src/files/port.ts";
import { createSignedInputLinks } from "../../src/files/signed-input-links.ts";
import { createSignedLinks, type Links } from "../../src/files/signed-links.ts";
import type { Submit, SubmitRequest } from "../../src/generations/submit.ts";
import { createHttpServer, type Http } from "../../src/http/server.ts";
import type { EventFields, EventName } from "../../src/logging/events.ts";
import { createCallbackUrls } from "../../src/providers/callback-urls.ts";
import type { EndUserRow } from "../../src/store/end-user-reads.ts";
import type { AccountRow, TransferRow } from "../../src/store/store.ts";
import type { WebhookReads } from "../../src/store/webhook-reads.ts";
import { readWebhookHosts } from "../../src/webhooks/hosts.ts";
import { createWebhookSecrets } from "../../src/webhooks/secrets.ts";
import { createWebhookService } from "../../src/webhooks/service.ts";
import { newGenerationSeq } from "../new-generation.ts";
import { type MemoryUploads, memoryResumable, memoryUploads } from "./memory-uploads.ts";

/** No account has a webhook endpoint. */
const noReads: WebhookReads = {
  webhookEndpoints: async () => [],
  webhookEndpoint: async () => undefined,
  defaultWebhookSecret: async () => undefined,
  webhookLanes: async () => [],
  nextWebhooks: async () => [],
  webhookDeliveries: async () => [],
  webhookDelivery: async () => undefined,
  webhookEvent: async () => undefined,
  webhookOutcomes: async () => [],
};

export const START_MS = Date.UTC(2026, 9, 19, 12);

const ACCOUNT: AccountRow = {
  ...{ seq: 1, id: "acc_1", name: "Ada", paused: false, createdAtMs: START_MS },
  ...{ availableCredits: 50, heldCredits: 45, chargedCredits: 0, owedCredits: 0 },
  ...{ inProgress: 1, burstPerS: null, inProgressLimit: null, promptRetentionS: null },
};
const END_USER: EndUserRow = {
  ...{ seq: 1, name: "ada", limit: { window: "day", credits: 500 }, createdAtMs: 1_790_000_000_000 },
  ...{ spentCredits: 120, heldCredits: 45 },
};
const TRANSFER: TransferRow = {
  ...{ seq: 1, accountId: "acc_1", chainSeq: 1, kind: "topup", credits: 95, from: "funding", to: "available" },
  ...{ generationId: null, attemptN: null, requestId: null, note: "pack", availableAfter: 95, heldAfter: 0 },
  ...{ hash: "a".repeat(64), atMs: START_MS },
};

export type Harness = {
  url: string;
  http: Http;
  /** The key of an account without restrictions. */
  key: string;
  files: Files;
  links: Links;
  uploads: MemoryUploads;
  /** Submit requests that the server parsed, in order. */
  orders: SubmitRequest[];
  lines: { event: EventName; fields: EventFields }[];
  advance(ms: number): void;
  addCaller(more?: Partial<Caller>): string;
  changeCaller(key: string, more: Partial<Caller>): void;
  addRecord(more?: Partial<GenerationRecord>): GenerationRecord;
  setModels(entries: ModelEntry[]): void;
  setStoreOpen(open: boolean): void;
  setReadiness(value: { ready: boolean; faults: string[] }): void;
  /** Replaces the submit function, which accepts every request. */
  onSubmit(then: Submit | null): void;
  /** Makes every read of a generation throw, as a defect would. */
  breakReads(fault: unknown): void;
  /** How often the server read a key from the store. */
  keyReads(): number;
  call(path: string, init?: RequestInit & { key?: string | null }): Promise<Response>;
  submit(body: string | Uint8Array | ReadableStream, headers?: Record<string, string>): Promise<Response>;
  [Symbol.asyncDispose](): Promise<void>;
};

/** A stream that ends after its first line. */
const ENDED_STREAM: Prepared = { open: () => new Blob(["retry: 1000\n\n"]).stream() };

/** Opens a harness. `env` sets settings as the environment would. */
export const openHarness = async (env: Record<string, string> = {}): Promise<Harness> => {
  const settings = readSettings({ GENROUTER_LOG__LEVEL: "debug", GENROUTER_LIMITS__BURST_PER_S: "100000", ...env });
  const dir = await mkdtemp(join(tmpdir(), "http-unit-"));
  const files = await createLocalStorage(dir);
  let nowMs = START_MS;
  const clock: Clock = { nowMs: () => nowMs, after: () => () => undefined };
  let url = "";
  const links = createSignedLinks({
    secretHex: "5a".repeat(32),
    baseUrl: () => url,
    validS: settings.limits.file_link_ttl_s,
    clock,
  });
  const uploadedFiles = await createLocalStorage(join(dir, "uploads"));
  const uploads = memoryUploads(uploadedFiles, clock, settings.limits.upload_bytes);
  const callers = new Map<string, Caller>();
  const records = new Map<string, GenerationRecord>();
  const orders: SubmitRequest[] = [];
  const lines: Harness["lines"] = [];
  let models: { entries: ModelEntry[]; version: number } = { entries: [], version: 0 };
  let isStoreOpen = true;
  let readiness = { ready: true, faults: [] as string[] };
  let submit: Submit | null = null;
  let fault: { thrown: unknown } | null = null;
  let keyReads = 0;
  let accounts = 0;

  const addRecord: Harness["addRecord"] = (more = {}) => {
    const seq = newGenerationSeq(nowMs);
    const record: GenerationRecord = {
      seq,
      id: generationId(seq),
      accountSeq: 1,
      requestId: "req_1",
      model: "vidmodel-2.0",
      status: "queued",
      message: null,
      quotedCredits: 29,
      reservedCredits: 45,
      costCredits: null,
      attempts: 0,
      error: null,
      output: null,
      createdAtMs: nowMs,
      completedAtMs: null,
      filesExpiredAtMs: null,
      erasedAtMs: null,
      labels: null,
      ...more,
    };
    records.set(record.id, record);
    return record;
  };
  const addCaller: Harness["addCaller"] = (more = {}) => {
    accounts += 1;
    const key = newApiKey("test");
    callers.set(hashApiKey(key), {
      keySeq: accounts,
      keyId: `key_${accounts}`,
      scope: "generate",
      expiresAtMs: null,
      models: null,
      isLimited: false,
      accountSeq: accounts,
      accountId: `acc_${accounts}`,
      paused: false,
      burstPerS: null,
      inProgressLimit: null,
      ...more,
    });
    return key;
  };

  const http = createHttpServer({
    cancel: () => Promise.reject(new Error("nothing is cancelled here")),
    erase: () => Promise.reject(new Error("nothing is erased here")),
    sharedRateLimit: null,
    settings,
    clock,
    log: (event, fields = {}) => lines.push({ event, fields }),
    reads: {
      callerByKeyHash: async (hash) => {
        keyReads += 1;
        return callers.get(hash);
      },
      recent: () => undefined,
      generationById: async (id, accountSeq) => {
        if (fault) throw fault.thrown;
        const record = records.get(id);
        return record?.accountSeq === accountSeq ? record : undefined;
      },
      generationBySeq: async (seq) => [...records.values()].find((record) => record.seq === seq),
      pinsOf: async () => [],
      inputFilesOf: async () => [],
      uploadedFile: async (id) => uploads.any(id),
      account: async () => ACCOUNT,
      key: async () => undefined,
      keyWindows: async () => null,
      keys: async () => [],
      accounts: async () => [],
      usage: async () => [],
      endUserUsage: async () => ({ rows: [{ ...END_USER, succeeded: 1, failed: 0, chargedCredits: 75 }], next: null }),
      endUser: async (_accountSeq, name) => (name === END_USER.name ? END_USER : undefined),
      endUsers: async () => [END_USER],
      transfers: async () => [TRANSFER],
      purchasesOfTransfers: async () => new Map(),
    },
    cursors: createCursors("ef".repeat(32)),
    rollUpUsage: async () => undefined,
    setEndUserLimit: async () => ({ kind: "done" }),
    webhooks: createWebhookService({
      clock,
      reads: noReads,
      post: () => Promise.reject(new Error("nothing is posted here")),
      secrets: createWebhookSecrets("cd".repeat(32)),
      allowsFor: readWebhookHosts("", false),
    }),
    submit: async (order, presence) => {
      orders.push(order);
      if (submit) return submit(order, presence);
      if (order.model === "unknown") refuse("model_not_available", "model: is not available");
      return { record: addRecord({ accountSeq: order.caller.accountSeq, model: order.model }), replayed: false };
    },
    quote: async ({ model }) => {
      if (model === "unknown") refuse("model_not_available", "model: is not available");
      return {
        quotedCredits: 29,
        reservedCredits: 45,
        routes: 2,
        expectedMs: 59_400,
        skipped: [{ reason: "unavailable", routes: 1 }],
      };
    },
    list: async ({ caller, limit, after }) => {
      if (after === "unknown") refuse("invalid_request", "after: is not a cursor");
      const own = [...records.values()].filter(({ accountSeq }) => accountSeq === caller.accountSeq).slice(0, limit);
      return { generations: own.map((record) => ({ record, requestedAtMs: null })), next: own.at(-1)?.id ?? null };
    },
    eventStreams: {
      ofGeneration: async (_caller, { completedAtMs }, lastEventId) => {
        if (lastEventId === "unknown") refuse("invalid_request", "Last-Event-ID: is unknown");
        return completedAtMs !== null && lastEventId !== null ? null : ENDED_STREAM;
      },
      ofAccount: async () => ENDED_STREAM,
      isOfKey: async () => true,
    },
    waitForEnd: async (record) => ({ record, isHonoured: true }),
    models: () => models,
    inputSchemaOf: (id) => (["down", ...models.entries.map((entry) => entry.id)].includes(id) ? { type: "object" } : undefined),
    files,
    callbacks: createCallbackUrls({ secretHex: "ab".repeat(32), publicUrl: "" }),
    stripeWebhook: null,
    console: null,
    pages: { console: false, inspector: false },
    onCallback: () => undefined,
    links,
    uploads,
    resumable: memoryResumable(clock.nowMs),
    uploadedFiles,
    serveInput: async () => undefined,
    copies: createInputCopies(await createLocalStorage(join(dir, "pinned")), null, clock.nowMs),
    inputLinks: createSignedInputLinks("cd".repeat(32), clock.nowMs),
    readiness: () => readiness,
    observe: () => () => undefined,
    metrics: async () => "# nothing\n",
    sockets: [],
    storeOpen: () => isStoreOpen,
  });
  ({ url } = await http.listen({ host: "127.0.0.1", port: 0 }));
  const key = addCaller();

  const call: Harness["call"] = (path, { key: as = key, ...init } = {}) => {
    const headers = new Headers(init.headers);
    if (as !== null && !headers.has("authorization")) headers.set("authorization", `Bearer ${as}`);
    return fetch(url + path, { redirect: "manual", ...init, headers });
  };
  return {
    url,
    http,
    key,
    files,
    links,
    uploads,
    orders,
    lines,
    advance: (ms) => {
      nowMs += ms;
    },
    addCaller,
    changeCaller: (of, more) => {
      const hash = hashApiKey(of);
      const before = callers.get(hash);
      if (before) callers.set(hash, { ...before, ...more });
    },
    addRecord,
    setModels: (entries) => {
      models = { entries, version: models.version + 1 };
    },
    setStoreOpen: (open) => {
      isStoreOpen = open;
    },
    setReadiness: (value) => {
      readiness = value;
    },
    onSubmit: (then) => {
      submit = then;
    },
    breakReads: (thrown) => {
      fault = { thrown };
    },
    keyReads: () => keyReads,
    call,
    submit: (body, headers = {}) => call("/v1/generations", { method: "POST", body, headers }),
    [Symbol.asyncDispose]: async () => {
      await http.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
};

/** Stores the bytes of file `n` of a generation on disk. */
export const keepFile = async (files: Files, id: string, n: number, bytes: Uint8Array): Promise<void> => {
  const incoming = await files.receive(id, n);
  await incoming.write(bytes);
  await incoming.keep({ n, sha256: Bun.SHA256.hash(bytes, "hex"), bytes: bytes.length, mime: "video/mp4" });
};

/** The error of a response. Throws if the body is not the specified error body. */
export const errorOf = async (response: Response): Promise<{ status: number; code: string; message: string }> => {
  const text = await response.text();
  if (response.headers.get("content-type") !== "application/json") throw new Error(`not JSON: ${response.status} ${text}`);
  const { error, ...rest } = JSON.parse(text) as { error: { code: string; message: string } };
  if (Object.keys(rest).length > 0 || Object.keys(error).join() !== "code,message") throw new Error(`not an error body: ${text}`);
  return { status: response.status, ...error };
};
