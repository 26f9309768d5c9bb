// The harness of the API tests: it compares every response with openapi.json, and the database before and after every rejection.

import { expect } from "bun:test";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Catalogue, catalogueOver, loadCatalogue } from "../../catalogue/load.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import { builtInProviders } from "../../src/providers/providers.ts";
import { nodesAsked, openAsked } from "../api-multi-node/request.ts";
import type { Harness, HarnessOptions, ParsedResponse, Tenant } from "../harness.ts";
import { sampleCatalogue } from "../sample/catalogue.ts";
import { dropScratch } from "../scratch.ts";
import { undescribed } from "./described.ts";

/** Opens a harness that fails a request whose response openapi.json does not describe. */
export const openApiHarness = (options: HarnessOptions = {}): Promise<Harness> =>
  openAsked({
    ...options,
    onResponse: (answer) => {
      expect(undescribed(answer)).toEqual([]);
      options.onResponse?.(answer);
    },
  });

/** `error.code` of a response. */
export const codeOf = ({ body }: ParsedResponse): string => ((body.error ?? {}) as { code?: string }).code ?? "";
export const messageOf = ({ body }: ParsedResponse): string => ((body.error ?? {}) as { message?: string }).message ?? "";

/** A rule of the specification: a request, and 202 or the expected status, code and parts of the message. */
export type Row = {
  name: string;
  /** A string is sent unchanged. */
  body: unknown;
  headers?: Record<string, string>;
  to: 202 | readonly [status: number, code: string, ...named: string[]];
};

/** A harness with a stopped clock and a full run queue: accepted generations stay queued, so nothing changes. */
export type StillHarness = Harness & {
  /** An account with more credits than all rows cost. */
  rich: Tenant;
  /** The balance of the account and the number of rows of every table. */
  standing(tenant?: Tenant): Promise<JsonObject>;
  /** Sends a row and checks the response. After a rejection, balance and row counts must be unchanged. */
  meets(row: Row): Promise<void>;
};

const BUSY_MODEL = "vidmodel-2.0-mini";

/** Takes the one place in the run queue with a generation whose job never ends. */
export const occupy = async (harness: Harness, tenant: Tenant): Promise<string> => {
  harness.simulator.script({ fault: "stuck", prompt: "takes the seat" });
  const answered = await harness.request("POST", "/v1/generations", {
    key: tenant.key,
    body: { model: BUSY_MODEL, input: { prompt: "takes the seat" } },
  });
  expect(answered.status).toBe(202);
  const id = String(answered.body.id);
  const seq = (await harness.store.findGeneration(id))?.seq ?? 0;
  await harness.eventually(
    async () => (await harness.store.attempt(seq, 1))?.state === "accepted",
    "the job that takes the place",
  );
  return id;
};

export const openStillHarness = async (options: HarnessOptions = {}): Promise<StillHarness> => {
  const dir = mkdtempSync(join(tmpdir(), "api-"));
  const accepted = new Set<string>();
  const harness = await openApiHarness({
    ...{ factor: 0, ...(nodesAsked() > 1 ? {} : { dir }), ...options },
    onResponse: (answer) => {
      if (answer.status === 202) accepted.add((JSON.parse(answer.text) as { id: string }).id);
      options.onResponse?.(answer);
    },
    env: { GENROUTER_LIMITS__MAX_RUNNING: "1", ...options.env },
  });
  const rich = await harness.newTenant(10_000_000);
  for (let node = 0; node < harness.nodes; node += 1) await occupy(harness, await harness.newTenant());
  const isSettled = async (id: string): Promise<boolean> => {
    const { seq = 0, status } = (await harness.store.findGeneration(id)) ?? {};
    return status === "failed" || (await harness.store.pinsOf(seq)).every(({ copy }) => copy !== null);
  };
  /** Inputs are pinned even with a stopped clock, so rows are counted only after every pin is complete. */
  const standing = async (tenant = rich) => {
    for (const id of accepted) {
      await harness.eventually(() => isSettled(id), `the pinned inputs of ${id}`);
      accepted.delete(id);
    }
    return { ...(await harness.balance(tenant)), ...(await harness.countRows()) };
  };
  return {
    ...harness,
    rich,
    standing,
    meets: async ({ body, headers = {}, to }) => {
      const before = await standing();
      const answered = await harness.request("POST", "/v1/generations", { body, headers, key: rich.key });
      const [status, code, ...named] = to === 202 ? [202, ""] : to;
      expect(answered).toMatchObject({ status });
      expect(codeOf(answered)).toBe(code);
      for (const part of named) expect(messageOf(answered)).toContain(part);
      if (to === 202) {
        expect(answered.body).toMatchObject({ status: "queued", cost_usd: null, attempts: 0 });
      } else expect(await standing()).toEqual(before);
    },
    close: async () => {
      await harness.close();
      dropScratch(dir);
    },
  };
};

const RATES = { expected_s: 10, timeout_s: 600, rates: [{ usd: "0.01" }] };
/** Accepts every field of the common input with the widest limits of §2.7. */
export const WIDEST = "widest-common";
/** Costs 1 USD per second, so `duration` sets the price relative to `max_cost_usd`. */
export const DEAR = "a-dollar-a-second";

/** Runs only at a provider without a credential. */
export const KEYLESS = "keyless-model";

const MODELS: Record<string, JsonObject> = {
  [KEYLESS]: {
    id: KEYLESS,
    name: "Keyless",
    maker: null,
    kind: "image",
    tasks: ["text-to-image"],
    input_kind: "common",
    fields: { prompt: { max_length: 100, required: true } },
    price: { unit: "image" },
    routes: [{ id: `${KEYLESS}/keyless`, provider: "keyless", endpoint: "test/keyless", ...RATES }],
  },
  [WIDEST]: {
    id: WIDEST,
    name: "Widest",
    maker: null,
    kind: "video",
    tasks: ["text-to-video"],
    input_kind: "common",
    fields: {
      prompt: { max_length: 30_000, required: true },
      negative_prompt: { max_length: 5000 },
      image_url: { max_items: 1 },
      end_image_url: { max_items: 1, requires: ["image_url"] },
      image_urls: { max_items: 30 },
      video_url: { max_items: 1 },
      audio_url: { max_items: 1 },
      resolution: { values: ["720p", "1080p", "1K", "2K", "4K"], default: "720p" },
      aspect_ratio: { values: ["16:9", "9:16", "1:1"], default: "16:9" },
      duration: { min: 1, max: 300, default: 5 },
      audio: { values: [false, true], default: false },
      quality: { values: ["low", "medium", "high"], default: "low" },
      seed: { min: 0, max: 4_294_967_295 },
    },
    price: { unit: "generation" },
    routes: [{ id: `${WIDEST}/fal`, provider: "fal", endpoint: "test/widest", ...RATES }],
  },
  [DEAR]: {
    id: DEAR,
    name: "Dear",
    maker: null,
    kind: "video",
    tasks: ["text-to-video"],
    input_kind: "common",
    fields: { prompt: { max_length: 100, required: true }, duration: { min: 1, max: 300, default: 5 } },
    price: { unit: "second" },
    routes: [
      { id: `${DEAR}/fal`, provider: "fal", endpoint: "test/dear", ...RATES, rates: [{ usd: "1.00" }] },
      { id: `${DEAR}/replicate`, provider: "replicate", endpoint: "test/dear", ...RATES, rates: [{ usd: "1.50" }] },
    ],
  },
};

/** The sample models, two models with the limits of the specification, and one without a usable provider. */
export const wideCatalogue = (): Catalogue => {
  const dir = mkdtempSync(join(tmpdir(), "models-"));
  try {
    mkdirSync(join(dir, "models"));
    for (const [id, model] of Object.entries(MODELS)) writeFileSync(join(dir, "models", `${id}.json`), JSON.stringify(model));
    return catalogueOver([...sampleCatalogue().models, ...loadCatalogue(dir, [...builtInProviders(), "keyless"]).models]);
  } finally {
    dropScratch(dir);
  }
};
