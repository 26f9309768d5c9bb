// Tests of the rules of both stores without a database: admission, transition and attempt rows.
import { describe, expect, test } from "bun:test";
import { dayOf } from "../../src/domain/calendar.ts";
import type { AdmitGeneration } from "../../src/domain/mutations.ts";
import type { ApplyTransition } from "../../src/domain/transition.ts";
import { type AdmissionRows, decideAdmission } from "../../src/store/decide/admission.ts";
import { attemptWrites, begunAttempt, changedAttempt } from "../../src/store/decide/attempt-writes.ts";
import { decideTransition, type TransitionRows } from "../../src/store/decide/transition.ts";
import { chainStart, type Head } from "../../src/store/sql/ledger.ts";
import { MutationRejected } from "../../src/store/sql/mutation-rejected.ts";
import { admittedRecord, type PackedAdmit, type PackedStep, pack } from "../../src/store/sql/serialized-mutations.ts";
import { admitMutation, capturedMutation, NOW_MS, PRICES, releasedMutation, startedMutation, stepMutation } from "./fixture.ts";

const ACCOUNT = { seq: 1, id: "acc_1", keySeq: 2, keyHash: "" };
const HEAD: Head = {
  availableCredits: 110,
  heldCredits: 0,
  owedCredits: 0,
  inProgress: 0,
  chainSeq: 1,
  chainEnd: 1,
  chainHash: chainStart("acc_1"),
};
const METER = { seq: 7, fromDay: 0, limits: [["month", 200]] as const };

const admission = (changes: Partial<AdmitGeneration> = {}) => pack(admitMutation(ACCOUNT, changes)) as PackedAdmit;
const admissionState = (changes: Partial<AdmissionRows> = {}): AdmissionRows => ({
  head: HEAD,
  known: undefined,
  bound: undefined,
  spentSince: () => 0,
  endUser: undefined,
  endUserSpentSince: () => 0,
  thresholdCredits: 0,
  isFileStored: () => true,
  ...changes,
});

describe("an admission", () => {
  test("needs the uploaded files that its input names, unless its key is known", () => {
    const place = { storageId: "blob_1", fileNo: 1, sha256: "a".repeat(64), bytes: 1, mime: "image/png" };
    const file = { n: 1, field: "input.image_url", kind: "image", fileSeq: 5, sourceSeq: null, ...place } as const;
    const result = { ...file, n: 2, fileSeq: null, sourceSeq: 9 };
    const mutation = admission({ files: { inputs: [file, result], expireAtMs: 0 } });
    const isFileStored = (seq: number) => seq !== 5;
    const lost = { result: { kind: "file_deleted", field: "input.image_url" }, writes: null } as const;
    expect(decideAdmission(mutation, admissionState({ isFileStored }))).toEqual(lost);
    expect(decideAdmission(mutation, admissionState()).result.kind).toBe("admitted");
    const known = { record: admittedRecord(mutation), request: { body: mutation.body, fingerprint: null } };
    expect(decideAdmission(mutation, admissionState({ isFileStored, known })).result.kind).toBe("replayed");
  });

  test("holds the reserve and counts one generation in progress", () => {
    const mutation = admission();
    const { result, writes } = decideAdmission(mutation, admissionState());
    expect(result).toEqual({ kind: "admitted", record: admittedRecord(mutation) });
    expect(writes?.spend).toBeNull();
    expect(writes?.held.move).toMatchObject({ kind: "hold", credits: 110, from: "available", to: "held", progress: 1 });
    expect(writes?.held.link).toMatchObject({ chainSeq: 2, availableAfter: 0, heldAfter: 110 });
  });

  const spent = (credits: number) => ({ bound: { expiresAtMs: null, meter: METER }, spentSince: () => credits });
  const refusals: [string, Partial<AdmissionRows>, string][] = [
    ["one missing credit", { head: { ...HEAD, availableCredits: 109 } }, "insufficient_credits"],
    ["a debt", { head: { ...HEAD, owedCredits: 1 } }, "owed"],
    ["the last place taken", { head: { ...HEAD, inProgress: 1000 } }, "concurrency_limit"],
    ["a key that expires now", { bound: { expiresAtMs: NOW_MS, meter: null } }, "key_expired"],
    ["a spend limit with one credit too few", spent(91), "key_limit"],
  ];
  test.each(refusals)("is refused for %s, and writes nothing", (_, changes, kind) => {
    expect(decideAdmission(admission(), admissionState(changes))).toMatchObject({ result: { kind }, writes: null });
  });

  test("reports the first violated rule: expiry, places, spend limit, debt, balance", () => {
    const broke: Head = { ...HEAD, availableCredits: 0, owedCredits: 5, inProgress: 1000 };
    const all = { ...spent(200), head: broke };
    const kindOf = (changes: Partial<AdmissionRows>) => decideAdmission(admission(), admissionState(changes)).result.kind;
    expect([
      kindOf({ ...all, bound: { expiresAtMs: 0, meter: METER } }),
      kindOf(all),
      kindOf({ ...all, head: { ...broke, inProgress: 0 } }),
      kindOf({ head: { ...broke, inProgress: 0 } }),
      kindOf({ head: { ...broke, inProgress: 0, owedCredits: 0 } }),
    ]).toEqual(["key_expired", "concurrency_limit", "key_limit", "owed", "insufficient_credits"]);
  });

  test("of a known idempotency key is a replay or a conflict, whatever the balance", () => {
    const first = admission({ idempotencyKey: "k" });
    const state = admissionState({
      head: { ...HEAD, availableCredits: 0 },
      known: { record: admittedRecord(first), request: { body: first.body, fingerprint: null } },
    });
    expect(decideAdmission(admission({ idempotencyKey: "k" }), state).result).toEqual({
      kind: "replayed",
      record: admittedRecord(first),
    });
    expect(decideAdmission(admission({ idempotencyKey: "k", body: '{"model":"another"}' }), state)).toEqual({
      result: { kind: "idempotency_conflict" },
      writes: null,
    });
  });

  test("counts the hold against the spend limit of its key from the day on which the limit was set", () => {
    const today = dayOf(NOW_MS);
    const spendFrom = (fromDay: number) =>
      decideAdmission(admission(), admissionState({ bound: { expiresAtMs: null, meter: { ...METER, fromDay } } })).writes?.spend;
    expect(spendFrom(today)).toEqual({ meterSeq: 7, day: today, credits: 110 });
    expect(spendFrom(today + 1)).toBeNull();
  });

  test("without an account is rejected as a defect, also with a known idempotency key", () => {
    const known = { record: admittedRecord(admission()), request: { body: admission().body, fingerprint: null } };
    expect(() => decideAdmission(admission(), admissionState({ head: undefined }))).toThrow(MutationRejected);
    expect(() => decideAdmission(admission(), admissionState({ head: undefined, known }))).toThrow(MutationRejected);
  });
});

describe("a transition", () => {
  const admitted = admitMutation(ACCOUNT);
  const packed = (mutation: ApplyTransition) => pack(mutation) as PackedStep;
  const capture = (n: number, credits: number, changes: Partial<ApplyTransition> = {}) =>
    packed({ ...capturedMutation(admitted.seq, 2, n, credits), ...changes });
  const transitionState = (changes: Partial<TransitionRows> = {}, version = 1): TransitionRows => ({
    generation: { record: { ...admittedRecord(admitted), status: "running", attempts: 1 }, version },
    isOwned: true,
    head: { ...HEAD, availableCredits: 0, heldCredits: 110, inProgress: 1 },
    captured: { priceCredits: PRICES.a, isDelivered: false },
    meterOf: () => null,
    endUserSeq: null,
    ...changes,
  });
  const decided = (mutation: PackedStep, changes: Partial<TransitionRows> = {}) =>
    decideTransition(mutation, transitionState(changes));

  test("that begins an attempt changes the record and writes the attempt, without a transfer", () => {
    const { result, writes } = decideTransition(packed(startedMutation(admitted)), transitionState({}, 0));
    expect(result).toMatchObject({ kind: "stepped", record: { status: "running", attempts: 1 } });
    expect(writes).toMatchObject({ isOpenRecordChanged: true, transfers: [], spend: null, repaysDebt: false });
    expect(writes?.attempts.map(({ n, columns }) => [n, columns?.state])).toEqual([
      [1, undefined],
      [1, "sending"],
      [1, "accepted"],
    ]);
  });

  test("that captures charges the price of the attempt and releases the rest", () => {
    const { result, writes } = decided(capture(1, PRICES.a));
    expect(result).toMatchObject({ kind: "stepped", record: { status: "succeeded", costCredits: 75 } });
    expect(writes?.transfers.map(({ kind, credits, progress }) => [kind, credits, progress])).toEqual([
      ["capture", 75, -1],
      ["release", 35, 0],
    ]);
  });

  test("that releases gives back the whole hold to balance and spend limit", () => {
    const { writes } = decided(packed(releasedMutation(admitted.seq, 2)), { meterOf: () => METER });
    expect(writes?.transfers.map(({ kind, credits, progress }) => [kind, credits, progress])).toEqual([["release", 110, -1]]);
    expect(writes?.spend).toEqual({ meterSeq: 7, day: dayOf(NOW_MS), credits: -110 });
  });

  test("marks the captured attempt as delivered exactly once", () => {
    const rowsOf = (mutation: PackedStep, isDelivered = false) =>
      decided(mutation, { captured: { priceCredits: PRICES.a, isDelivered } }).writes?.attempts.map(
        ({ columns }) => columns?.state,
      );
    expect(rowsOf(capture(1, PRICES.a))).toEqual(["delivered"]);
    expect(rowsOf(capture(1, PRICES.a, { attemptChanges: [] }))).toEqual(["delivered"]);
    expect(rowsOf(capture(1, PRICES.a, { attemptChanges: [] }), true)).toEqual([]);
  });

  test("that captures an attempt of its own has the price of that attempt", () => {
    const { attemptChanges } = startedMutation(admitted, 1, 2, "b");
    const { writes } = decided(capture(2, PRICES.b, { attemptChanges }), { captured: undefined });
    expect(writes?.transfers[0]).toMatchObject({ kind: "capture", credits: 90, attemptN: 2 });
  });

  test("marks the captured attempt at the time of the transition, whatever happens to other attempts", () => {
    const marked = [{ n: 1, columns: { state: "delivered", watchUntilMs: null, endedAtMs: NOW_MS + 2000 } }];
    expect(decided(capture(1, PRICES.a, { attemptChanges: [] })).writes?.attempts).toMatchObject(marked);
    const { begin } = startedMutation(admitted, 1, 2, "b").attemptChanges[0] ?? {};
    const another = capture(1, PRICES.a, {
      attemptChanges: [
        { n: 2, ...(begin && { begin }) },
        { n: 2, state: "delivered" },
      ],
    });
    expect(decided(another).writes?.attempts.slice(2)).toMatchObject(marked);
  });

  test("of the whole hold returns nothing to the spend limit, which is not read", () => {
    const meterOf = () => {
      throw new Error("the spend limit is read");
    };
    const { writes } = decided(capture(1, 110), { captured: { priceCredits: 110, isDelivered: false }, meterOf });
    expect(writes).toMatchObject({ spend: null, transfers: [{ kind: "capture", credits: 110 }] });
  });

  test("never ends before the submission", () => {
    expect(decided(packed(releasedMutation(admitted.seq, 2, { atMs: NOW_MS - 1 }))).result).toMatchObject({
      record: { completedAtMs: NOW_MS },
    });
  });

  test("changes the record if status, message or number of attempts are set, and only then", () => {
    const generation = { record: { ...admittedRecord(admitted), message: "m" }, version: 1 };
    const after = (changes: Partial<ApplyTransition>) =>
      decided(packed(stepMutation(admitted.seq, 2, changes)), { generation }).writes;
    expect(after({ message: null })).toMatchObject({ isOpenRecordChanged: true, record: { message: null } });
    expect(after({ attempts: 2 })).toMatchObject({ isOpenRecordChanged: true, record: { attempts: 2, message: "m" } });
    expect(after({})).toMatchObject({ isOpenRecordChanged: false, record: { message: "m" } });
  });

  test("of an account with a debt lets the released credits repay it", () => {
    expect(decided(packed(releasedMutation(admitted.seq, 2)), { head: { ...HEAD, owedCredits: 1 } }).writes?.repaysDebt).toBe(
      true,
    );
    expect(decided(packed(stepMutation(admitted.seq, 2)), { head: { ...HEAD, owedCredits: 1 } }).writes?.repaysDebt).toBe(false);
  });

  const { generation } = transitionState();
  const ended = { ...admittedRecord(admitted), completedAtMs: NOW_MS };
  const stale: [string, Partial<TransitionRows>][] = [
    ["without a generation", { generation: undefined }],
    ["of an ended generation", { generation: { record: ended, version: 1 } }],
    ["from an older version", { generation: generation && { ...generation, version: 2 } }],
    ["from a newer version", { generation: generation && { ...generation, version: 0 } }],
    ["of another writer's generation", { isOwned: false }],
  ];
  test.each(stale)("%s is stale and writes nothing", (_, changes) => {
    expect(decided(capture(1, PRICES.a), changes)).toEqual({ result: { kind: "stale" }, writes: null });
  });

  const rejected: [string, PackedStep, Partial<TransitionRows>, RegExp][] = [
    ["a capture above the price", capture(1, 76), {}, /quoted 75 credits and the capture is 76/],
    ["a capture of an attempt that never began", capture(3, 75), { captured: undefined }, /has no attempt 3/],
    ["an end with a snapshot", capture(1, 75, { snapshot: "{}" }), {}, /keeps no snapshot/],
    ["no snapshot of an open generation", packed(stepMutation(admitted.seq, 2, { snapshot: null })), {}, /requires a snapshot/],
    ["an end without an account", capture(1, 75), { head: undefined }, /no account 1/],
    [
      "an empty change of an attempt",
      packed(stepMutation(admitted.seq, 2, { attemptChanges: [{ n: 1 }] })),
      {},
      /changes nothing/,
    ],
  ];
  test.each(rejected)("with %s is rejected as a defect", (_, mutation, changes, reason) => {
    expect(() => decided(mutation, changes)).toThrow(reason);
  });
});

describe("a change of an attempt", () => {
  const route = { routeId: "a", provider: "fal", endpoint: "video/fast", options: {}, kind: "video" } as const;
  const begun = begunAttempt(5, 1, "req", { ref: "x-1", route, priceCredits: 75 });

  test.each(["delivered", "failed", "superseded"] as const)("%s has ended at the time of the transition", (state) => {
    expect(attemptWrites({ n: 1, state }, 9).columns).toEqual({ state, endedAtMs: 9 });
    expect(attemptWrites({ n: 1, state, endedAtMs: 4 }, 9).columns).toEqual({ state, endedAtMs: 4 });
  });

  test.each(["intent", "sending", "accepted"] as const)("%s has not ended", (state) => {
    expect(attemptWrites({ n: 1, state }, 9).columns).toEqual({ state });
  });

  test("may store a request alone", () => {
    expect(attemptWrites({ n: 1, request: "{}" }, 9)).toEqual({ n: 1, begin: undefined, columns: undefined, request: "{}" });
  });

  test("keeps the URLs of a job and what it omits, and ends a watch with null", () => {
    const sent = changedAttempt(begun, { n: 1, state: "sending", request: "{}", sentAtMs: 1, endsAtMs: 2, watchUntilMs: 3 }, 9);
    const accepted = changedAttempt(sent, { n: 1, state: "accepted", job: { jobId: "j" } }, 9);
    expect(accepted).toEqual({ ...sent, state: "accepted", job: { jobId: "j" } });
    const job = { jobId: "j", urls: { poll: "https://up.example/1" } };
    expect(changedAttempt({ ...sent, job }, { n: 1, job: { jobId: "j" } }, 9).job).toEqual(job);
    expect(changedAttempt(accepted, { n: 1, watchUntilMs: null }, 9)).toEqual({ ...accepted, watchUntilMs: null });
  });
});
