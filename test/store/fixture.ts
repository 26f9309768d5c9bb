// Fixture of store tests: accounts with credits, generations and their mutations.

import { generationId, hashApiKey, newApiKey, newId } from "../../src/domain/ids.ts";
import type { AdminResult, AdmitGeneration, AdmitResult, Mutation, ResultOf } from "../../src/domain/mutations.ts";
import type { ApplyTransition } from "../../src/domain/transition.ts";
import type { Output, PinnedCopy, PinRequest } from "../../src/domain/types.ts";
import type { Store } from "../../src/store/store.ts";
import { newGeneration, newGenerationSeq } from "../new-generation.ts";

export const NOW_MS = 1_790_000_000_000;
export const OUTPUT: Output = {
  kind: "video",
  files: [{ n: 1, sha256: "a".repeat(64), bytes: 10, mime: "video/mp4" }],
  width: 1280,
  height: 720,
  durationMs: 5000,
  hasAudio: true,
};
/** Prices of the routes a, b, c of every plan here: quoted 75, reserved 110. */
export const PRICES = { a: 75, b: 90, c: 110 } as const;

export const commitOne = async <D extends Mutation>(store: Store, mutation: D): Promise<ResultOf<D>> => {
  const [outcome] = await store.commit([mutation]);
  return outcome as ResultOf<D>;
};

export type Account = { seq: number; id: string; keySeq: number; keyHash: string };

/** Creates an account with a key and `credits`. */
export const openAccount = async (store: Store, credits: number): Promise<Account> => {
  const id = newId("acc");
  const account = await commitOne(store, { mutation: "create-account", id, name: "Ada", atMs: NOW_MS });
  if (account.kind !== "done" || account.seq === undefined) throw new Error("no account");
  const keyHash = hashApiKey(newApiKey("test"));
  const key = await commitOne(store, {
    mutation: "create-key",
    id: newId("key"),
    accountSeq: account.seq,
    scope: "generate",
    name: "laptop",
    hash: keyHash,
    start: "gr_test_abcd",
    atMs: NOW_MS,
  });
  if (key.kind !== "done" || key.seq === undefined) throw new Error("no key");
  if (credits > 0) await topUp(store, account.seq, credits);
  return { seq: account.seq, id, keySeq: key.seq, keyHash };
};

export const topUp = (store: Store, accountSeq: number, credits: number, reference: string | null = null): Promise<AdminResult> =>
  commitOne(store, { mutation: "credit", accountSeq, kind: "topup", credits, note: "pack", reference, atMs: NOW_MS });

/** A submission on the account with 75 quoted and 110 reserved credits, unless `changes` override them. */
export const admitMutation = (account: Account, changes: Partial<AdmitGeneration> = {}): AdmitGeneration => {
  const seq = newGenerationSeq(NOW_MS);
  return {
    mutation: "admit",
    seq,
    id: generationId(seq),
    accountSeq: account.seq,
    keySeq: account.keySeq,
    model: "vidmodel-2.0",
    idempotencyKey: null,
    body: JSON.stringify({ input: { duration: 5, prompt: "a fox in the snow" }, model: "vidmodel-2.0" }),
    added: { resolution: "720p" },
    plan: Object.entries(PRICES).map(([routeId, priceCredits]) => ({
      routeId,
      priceCredits,
      timeoutMs: 600_000,
      onRefusal: "fail",
      onLost: "next",
    })),
    ordered: { kind: "video", ms: 5000, leastMs: 4700, leastPixels: 737_280, leastSide: 684, sound: true },
    quotedCredits: PRICES.a,
    reservedCredits: PRICES.c,
    maxCostCredits: 10_000,
    inProgressLimit: 1000,
    createdAtMs: NOW_MS,
    waitEndsAtMs: NOW_MS + 3_600_000,
    requestId: newId("req"),
    ...changes,
  };
};

/** The fields that depend on the time of submission. */
export const submittedAt = (createdAtMs: number): Partial<AdmitGeneration> => ({
  ...newGeneration(createdAtMs),
  createdAtMs,
  waitEndsAtMs: createdAtMs + 3_600_000,
});

export const admit = async (store: Store, account: Account, changes: Partial<AdmitGeneration> = {}): Promise<AdmitGeneration> => {
  const mutation = admitMutation(account, changes);
  const outcome: AdmitResult = await commitOne(store, mutation);
  if (outcome.kind !== "admitted") throw new Error(`not admitted: ${outcome.kind}`);
  return mutation;
};

/** A step that does not end the generation. */
export const stepMutation = (seq: number, version: number, changes: Partial<ApplyTransition> = {}): ApplyTransition => ({
  mutation: "step",
  seq,
  version,
  atMs: NOW_MS + version * 1000,
  event: { type: "tick" },
  stateAfter: "running.polling",
  snapshot: `{"v":${version}}`,
  attemptChanges: [],
  ...changes,
});

/** The step that begins attempt `n` on a route, sends it and stores its job: `running`. */
export const startedMutation = (
  mutation: AdmitGeneration,
  version = 1,
  n = 1,
  route: keyof typeof PRICES = "a",
  provider = "fal",
): ApplyTransition =>
  stepMutation(mutation.seq, version, {
    status: "running",
    attempts: n,
    attemptChanges: [
      {
        n,
        begin: {
          ref: `${mutation.id.slice(4)}-${n}`,
          route: { routeId: route, provider, endpoint: "video/fast", options: { tier: "std" }, kind: "video" },
          priceCredits: PRICES[route],
        },
      },
      { n, state: "sending", request: '{"method":"POST"}', sentAtMs: NOW_MS + 500, endsAtMs: NOW_MS + 600_500 },
      { n, state: "accepted", job: { jobId: `job-${mutation.seq}-${n}`, urls: { poll: "https://up.example/1" } } },
    ],
    deadline: { kind: "attempt", n, dueAtMs: NOW_MS + 600_500 },
  });

/** The step that charges attempt `n` and ends the generation. */
export const capturedMutation = (seq: number, version: number, n: number, credits: number): ApplyTransition =>
  stepMutation(seq, version, {
    event: { type: "collected" },
    stateAfter: "succeeded",
    snapshot: null,
    attemptChanges: [{ n, state: "delivered" }],
    settlement: { kind: "capture", n, credits, output: OUTPUT, filesExpireAtMs: NOW_MS + 604_800_000 },
  });

/** The step that releases the whole hold and ends the generation. */
export const releasedMutation = (seq: number, version: number, changes: Partial<ApplyTransition> = {}): ApplyTransition =>
  stepMutation(seq, version, {
    event: { type: "deadline" },
    stateAfter: "failed",
    snapshot: null,
    settlement: { kind: "release", error: { code: "timed_out", message: "No route delivered in time." } },
    ...changes,
  });

/** A generation from submission to success on route a, 75 of 110 credits. */
export const succeed = async (
  store: Store,
  account: Account,
  changes: Partial<AdmitGeneration> = {},
): Promise<AdmitGeneration> => {
  const mutation = await admit(store, account, changes);
  await store.commit([startedMutation(mutation), capturedMutation(mutation.seq, 2, 1, PRICES.a)]);
  return mutation;
};

/** The violated invariants with their offending rows. */
export const violations = async (store: Pick<Store, "verify">, nowMs: number | null = NOW_MS + 5000) =>
  (await store.verify(nowMs)).filter(({ ok }) => !ok);

/** A linked input whose length is billed, and its pinned copy. */
export const PIN: PinRequest = { n: 1, field: "input.video_url", kind: "video", measuredMs: 4000, frameMs: 42 };
export const COPY: PinnedCopy = { n: 1, sha256: "c".repeat(64), bytes: 71_000, mime: "video/mp4", ms: 4010 };
/** The first step of a generation after its inputs are pinned. */
export const pinnedMutation = (seq: number, pinned: readonly PinnedCopy[]): ApplyTransition =>
  stepMutation(seq, 1, {
    event: { type: "pinned" },
    stateAfter: "queued",
    snapshot: '{"v":1,"value":"queued","memory":{}}',
    pinned,
  });
