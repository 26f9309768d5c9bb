// Property of serialization: values are read back as they were written, and a body's hash depends only on its meaning.
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { modelEntry } from "../../catalogue/public-model.ts";
import { API_ERRORS, type ApiErrorCode } from "../../src/domain/api-errors.ts";
import { fingerprintOf, isSameRequest } from "../../src/domain/idempotency.ts";
import { generationId, seqOfGenerationId } from "../../src/domain/ids.ts";
import type { AdmitGeneration, Mutation } from "../../src/domain/mutations.ts";
import type { Caller, Json, JsonObject } from "../../src/domain/types.ts";
import { readBody } from "../../src/http/body.ts";
import { errorJson } from "../../src/http/errors.ts";
import { parseSubmission, storedBody } from "../../src/http/parse-submission.ts";
import { pack } from "../../src/store/sql/serialized-mutations.ts";
import { fromLines, outcomesFromText, outcomesToText, toLines } from "../../src/store/sqlite/worker-protocol.ts";
import { catalogue } from "../quote/inputs.ts";
import { admitMutation, stepMutation } from "../store/fixture.ts";
import type { Property } from "./property.ts";

/** Text that JSON can represent and that has a canonical form. */
const text = fc.string({ unit: "grapheme", maxLength: 20 });
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<Json[]>(null, true, false, "", 0, 1e21, 0.1),
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value)),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.dictionary(text, tie("json"), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
const object = fc.dictionary(text, json, { maxKeys: 5, noNullPrototype: true });

type Message = {
  model: string;
  input: JsonObject;
  cents: number | null;
  waitS: number | null;
  key: string | null;
  /** How the body is written: the order of its members and the white space between them. */
  order: number[];
  space: string;
  /** The changed value. */
  changed: number;
  error: { code: ApiErrorCode; message: string };
  /** The configured routes of the catalogue. */
  configured: number;
  seq: number;
};

const messages: fc.Arbitrary<Message> = fc.record({
  model: text,
  input: object,
  cents: fc.option(fc.integer({ min: 1, max: 10_000 })),
  waitS: fc.option(fc.integer({ min: 1, max: 86_400 })),
  key: fc.option(fc.stringMatching(/^[!-~]{1,60}$/)),
  order: fc.array(fc.nat(100), { minLength: 1, maxLength: 8 }),
  space: fc.constantFrom("", " ", "\n", "\t ", "\r\n  "),
  changed: fc.nat(1000),
  error: fc.record({ code: fc.constantFrom(...(Object.keys(API_ERRORS) as ApiErrorCode[])), message: text }),
  configured: fc.nat(0xffff),
  seq: fc.maxSafeNat(),
});

const CALLER: Caller = {
  ...{ keySeq: 1, keyId: "key_1", scope: "generate", accountSeq: 1, accountId: "acc_1", paused: false },
  ...{ expiresAtMs: null, models: null, isLimited: false, burstPerS: null, inProgressLimit: null },
};

const same = (what: string, seen: unknown, wanted: unknown): void => {
  if (!isDeepStrictEqual(seen, wanted)) throw new Error(`${what}: ${JSON.stringify(seen)}, not ${JSON.stringify(wanted)}`);
};

/** JSON with its members in another order and white space between its tokens. */
const printed = (value: Json, order: readonly number[], space: string): string => {
  if (Array.isArray(value))
    return `[${space}${value.map((one) => printed(one, order, space)).join(`${space},${space}`)}${space}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, one], at) => ({ name, one, rank: order[at % order.length] ?? 0 }));
  const lines = members
    .sort((a, b) => a.rank - b.rank)
    .map(({ name, one }) => `${JSON.stringify(name)}${space}:${printed(one, order, space)}`);
  return `{${space}${lines.join(`${space},${space}`)}${space}}`;
};

/** The value with one changed leaf, which a count selects. */
const withOneChanged = (value: Json, count: number): Json => {
  if (Array.isArray(value)) {
    if (value.length === 0) return [null];
    const at = count % value.length;
    return value.map((one, index) => (index === at ? withOneChanged(one, Math.floor(count / value.length)) : one));
  }
  if (typeof value === "object" && value !== null) {
    const names = Object.keys(value);
    if (names.length === 0) return { a: null };
    const name = names[count % names.length] ?? "";
    return { ...value, [name]: withOneChanged(value[name] ?? null, Math.floor(count / names.length)) };
  }
  if (typeof value === "string") return `${value}!`;
  return value === null ? false : null;
};

const bodyOf = ({ model, input, cents, waitS }: Message): JsonObject => ({
  ...{ model, input },
  ...(cents === null ? {} : { max_cost_usd: cents / 100 }),
  ...(waitS === null ? {} : { max_wait_s: waitS }),
});

const checkRequest = async (message: Message): Promise<void> => {
  const body = bodyOf(message);
  const headers: Record<string, string> = message.key === null ? {} : { "idempotency-key": message.key };
  const read = async (sent: string) => {
    const request = new Request("http://localhost/", { method: "POST", headers, body: sent });
    return parseSubmission(await readBody(request), request, "req_1", CALLER);
  };
  const order = await read(printed(body, message.order, message.space));
  same("the order read", order, {
    ...{ caller: CALLER, requestId: "req_1", model: message.model, input: message.input },
    maxCostCredits: message.cents ?? 10_000,
    maxWaitMs: message.waitS === null ? null : message.waitS * 1000,
    idempotencyKey: message.key,
    body: order.body,
  });
  const again = await read(JSON.stringify(body));
  const other = withOneChanged(body, message.changed) as JsonObject;
  const text = JSON.stringify(other);
  const [stored, erased] = [
    { body: order.body, fingerprint: null },
    { body: "{}", fingerprint: fingerprintOf(order.body) },
  ];
  const isKnown = isSameRequest(stored, again.body) && isSameRequest(erased, again.body);
  if (!isKnown) throw new Error("the same request is another one");
  if ([stored, erased].some((kept) => isSameRequest(kept, storedBody(text, other))))
    throw new Error(`${JSON.stringify(body)} and ${JSON.stringify(other)} are the same request`);
};

const checkEntry = ({ configured }: Message): void => {
  const model = catalogue.models[configured % catalogue.models.length];
  if (!model) throw new Error("the catalogue is empty");
  const isConfigured = (routeId: string) => ((configured >> model.routes.findIndex(({ id }) => id === routeId)) & 1) === 1;
  const entry = modelEntry(model, isConfigured);
  same(`the entry of ${model.id}`, JSON.parse(JSON.stringify(entry)), entry);
};

/** Mutations are sent to the writer thread as lines, and their outcomes are returned as text. */
const checkLines = ({ input, model, key }: Message): void => {
  const account = { seq: 1, id: "acc_1", keySeq: 1, keyHash: "" };
  const admit: AdmitGeneration = admitMutation(account, {
    model,
    idempotencyKey: key,
    body: JSON.stringify({ input }),
    added: { more: "by default" },
  });
  const mutations: Mutation[] = [admit, stepMutation(admit.seq, 1, { event: { type: "reported", input } }), admit];
  same("mutations as lines", fromLines(toLines(mutations)), mutations.map(pack));
  const outcomes = outcomesFromText(outcomesToText([{ kind: "stale" }, { kind: "refused", reason: model }]), mutations.slice(1));
  same("outcomes as text", outcomes, [{ kind: "stale" }, { kind: "refused", reason: model }]);
};

export const wireProperty: Property<Message> = {
  name: "wire",
  says: "reads back every written value unchanged, and hashes a body by its meaning, not by member order or white space",
  runsOf: (runs) => runs,
  arbitrary: messages,
  open: () => ({
    play: async (message) => {
      await checkRequest(message);
      checkEntry(message);
      checkLines(message);
      const { code, message: said } = message.error;
      same("an error", JSON.parse(errorJson(code, said)), { error: { code, message: said } });
      same("the row number of an id", seqOfGenerationId(generationId(message.seq)), message.seq);
    },
  }),
};
