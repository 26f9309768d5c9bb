// Workload of the crash client: orders derived from seed, worker and number.
//
// A seed reproduces every order.
import canonicalize from "canonicalize";
import type { JsonObject } from "../../domain/types.ts";
import { chance } from "../../simulator/fault-script.ts";

/** `account`: position in the list of tenants. `hash`: SHA-256 of the canonical body. */
export type Order = { key: string; account: number; body: JsonObject & { model: string }; hash: string };

/** An image model whose first provider is synchronous. Only the response contains the result, and no job can be polled. */
export const AT_ONCE_MODEL = "crash-at-once";

const INPUTS: readonly (readonly [model: string, input: JsonObject])[] = [
  ["vidmodel-2.0-fast", { resolution: "480p", duration: 4 }],
  ["vidmodel-2.0-mini", { resolution: "480p", duration: 4 }],
  ["vidmodel-2.0", { resolution: "480p", duration: 4 }],
  ["vidmodel-2.5", { resolution: "480p", duration: 4 }],
  ["sim-image-1", { quality: "low" }],
  ["sim-speech-1", {}],
  [AT_ONCE_MODEL, {}],
];

/** The submitted models. */
export const ORDERED_MODELS: readonly string[] = INPUTS.map(([model]) => model);

const numberOf = (...parts: readonly number[]) => parts.reduce((sum, part) => (Math.imul(sum, 1_000_003) + part) >>> 0, 17);
export const hashOf = (body: JsonObject) => Bun.SHA256.hash(canonicalize(body) ?? "", "hex");

/**
 * The order of a worker's number. `isChanged`: the same key with another body. Each prompt is unique and contains account and
 * key, so that a provider's log identifies the owner of a job.
 */
export const orderOf = (seed: number, accounts: number, worker: number, n: number, isChanged = false): Order => {
  const roll = chance(numberOf(seed, worker, n));
  const account = Math.floor(roll() * accounts);
  const [model, input] = INPUTS[Math.floor(roll() * INPUTS.length)] ?? ["vidmodel-2.0", {}];
  const key = `k-${seed}-${worker}-${n}`;
  const prompt = `crash ${account} ${key} ${isChanged ? "changed" : "as first sent"}`;
  const body = { model, input: { prompt, ...input } };
  return { key, account, body, hash: hashOf(body) };
};

/** The order behind a job's input; undefined for any other input. */
export const originOf = (input: JsonObject | null): { account: number; key: string } | undefined => {
  const text = /^crash (\d+) (k-\d+-\d+-\d+) /.exec(String(input?.prompt ?? input?.text ?? ""));
  return text ? { account: Number(text[1]), key: text[2] ?? "" } : undefined;
};
