// What every store promises: one suite, run over each driver.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Store } from "../../src/store/store.ts";
import {
  type Account,
  admit,
  admitDeed,
  capturedDeed,
  commitOne,
  NOW_MS,
  OUTPUT,
  openAccount,
  releasedDeed,
  startedDeed,
  stepDeed,
  succeed,
  topUp,
  violations,
} from "./scene.ts";

/** Runs the suite over a driver; `open` gives an empty store each time. */
export const conformance = (driver: string, open: () => Promise<Store>): void => {
  describe(`store over ${driver}`, () => {
    let store: Store;
    let account: Account;
    const balance = async () => {
      const row = await store.account(account.id);
      return [row?.availableCredits, row?.heldCredits, row?.chargedCredits, row?.inProgress];
    };
    beforeEach(async () => {
      store = await open();
      account = await openAccount(store, 1000);
    });
    afterEach(async () => {
      // Whatever a test did through deeds, the invariants hold.
      expect(await violations(store)).toEqual([]);
      await store.close();
    });

    test("an accepted submission holds its reserve and is read back as it was answered", async () => {
      const deed = admitDeed(account, { idempotencyKey: "k1" });
      const outcome = await commitOne(store, deed);
      if (outcome.kind !== "admitted") throw new Error(outcome.kind);
      expect(outcome.record).toMatchObject({
        id: deed.id,
        status: "queued",
        quotedCredits: 75,
        reservedCredits: 110,
        attempts: 0,
      });
      expect(await store.generationById(deed.id, account.seq)).toEqual(outcome.record);
      expect(await store.generationBySeq(deed.seq)).toEqual(outcome.record);
      expect(await store.generationByKey(account.seq, "k1")).toEqual({ record: outcome.record, bodyHash: deed.bodyHash });
      expect(await store.findGeneration(deed.id)).toEqual({ ...outcome.record, accountId: account.id, idempotencyKey: "k1" });
      expect(await balance()).toEqual([890, 110, 0, 1]);
      expect(await store.unfinished(0, 10)).toEqual([
        {
          seq: deed.seq,
          id: deed.id,
          accountSeq: account.seq,
          status: "queued",
          createdAtMs: NOW_MS,
          waitEndsAtMs: deed.waitEndsAtMs,
          plan: deed.plan,
          version: 0,
          snapshot: null,
          commands: [{ kind: "start", n: 0, dueAtMs: NOW_MS }],
          attempt: null,
        },
      ]);
    });

    test.each([
      ["defaults were added", { prompt: "x" }, { prompt: "x", duration: 5, audio: false }],
      [
        "nothing was added",
        { prompt: "x", image_urls: ["https://a.example/1"] },
        { prompt: "x", image_urls: ["https://a.example/1"] },
      ],
      ["a value was changed", { prompt: " x ", seed: 1 }, { prompt: "x", seed: 1 }],
      ["the order was changed", { a: 1, b: 2 }, { b: 2, a: 1 }],
      ["a field was dropped", { a: 1, b: null }, { a: 1 }],
      [
        "line feeds and quotes are inside",
        { prompt: 'two\nlines "quoted" \\ 雪 \u2028' },
        { prompt: 'two\nlines "quoted" \\ 雪 \u2028', n: [] },
      ],
    ])("the input comes back byte for byte when %s", async (_name, raw, filled) => {
      const deed = await admit(store, account, { input: { raw, filled } });
      expect(JSON.stringify(await store.inputOf(deed.seq))).toBe(JSON.stringify({ raw, filled }));
    });

    test("the same key and body is one generation, another body is a conflict, another account is free", async () => {
      const first = await admit(store, account, { idempotencyKey: "k" });
      expect(await commitOne(store, admitDeed(account, { idempotencyKey: "k" }))).toMatchObject({
        kind: "replayed",
        record: { id: first.id },
      });
      expect(await commitOne(store, admitDeed(account, { idempotencyKey: "k", bodyHash: "c".repeat(64) }))).toEqual({
        kind: "idempotency_conflict",
      });
      const other = await openAccount(store, 1000);
      expect((await commitOne(store, admitDeed(other, { idempotencyKey: "k" }))).kind).toBe("admitted");
      expect(await balance()).toEqual([890, 110, 0, 1]);
    });

    test("fifty submissions with one key in one batch make one generation", async () => {
      const outcomes = await store.commit(Array.from({ length: 50 }, () => admitDeed(account, { idempotencyKey: "one" })));
      expect(outcomes.map(({ kind }) => kind)).toEqual(["admitted", ...Array<"replayed">(49).fill("replayed")]);
      expect(await balance()).toEqual([890, 110, 0, 1]);
    });

    test("a replay is answered before limit and balance, a refused submission leaves its key free", async () => {
      await admit(store, account, { idempotencyKey: "k" });
      const tight = { inProgressLimit: 1, reservedCredits: 110 };
      expect((await commitOne(store, admitDeed(account, { ...tight, idempotencyKey: "k" }))).kind).toBe("replayed");
      expect(await commitOne(store, admitDeed(account, { ...tight, idempotencyKey: "k2" }))).toEqual({
        kind: "concurrency_limit",
      });
      expect((await commitOne(store, admitDeed(account, { idempotencyKey: "k2" }))).kind).toBe("admitted");
    });

    test("fifty submissions on a balance for ten: ten are accepted, forty refused, nothing else changes", async () => {
      const poor = await openAccount(store, 1100 + 109);
      const outcomes = await store.commit(Array.from({ length: 50 }, () => admitDeed(poor)));
      expect(outcomes.filter(({ kind }) => kind === "admitted")).toHaveLength(10);
      expect(outcomes.slice(10)).toEqual(Array(40).fill({ kind: "insufficient_credits", availableCredits: 109 }));
      expect(await store.account(poor.id)).toMatchObject({ availableCredits: 109, heldCredits: 1100, inProgress: 10 });
    });

    test("the limit of generations in progress is told before the balance", async () => {
      const poor = await openAccount(store, 110);
      await admit(store, poor, { inProgressLimit: 1 });
      expect(await commitOne(store, admitDeed(poor, { inProgressLimit: 1 }))).toEqual({ kind: "concurrency_limit" });
      expect(await commitOne(store, admitDeed(poor, { inProgressLimit: 2 }))).toEqual({
        kind: "insufficient_credits",
        availableCredits: 0,
      });
    });

    test("a delivery charges its own price, releases the rest and ends everything in one step", async () => {
      const deed = await admit(store, account);
      await store.commit([startedDeed(deed)]);
      expect(await store.unfinished(0, 10)).toMatchObject([
        { status: "running", version: 1, attempt: { n: 1, state: "accepted" } },
      ]);
      const outcome = await commitOne(store, capturedDeed(deed.seq, 2, 1, 75));
      if (outcome.kind !== "stepped") throw new Error(outcome.kind);
      expect(outcome.record).toMatchObject({
        status: "succeeded",
        costCredits: 75,
        output: OUTPUT,
        completedAtMs: NOW_MS + 2000,
      });
      expect(await store.generationById(deed.id, account.seq)).toEqual(outcome.record);
      expect(await balance()).toEqual([925, 0, 75, 0]);
      expect(await store.unfinished(0, 10)).toEqual([]);
      expect(await store.snapshotOf(deed.seq)).toBeUndefined();
      expect((await store.movementsOf(deed.seq)).map((m) => [m.kind, m.credits, m.from, m.to, m.attemptN])).toEqual([
        ["hold", 110, "available", "held", null],
        ["capture", 75, "held", "charged", 1],
        ["release", 35, "held", "available", null],
      ]);
      expect(await store.attempt(deed.seq, 1)).toMatchObject({ state: "delivered", endedAtMs: NOW_MS + 2000, priceCredits: 75 });
      expect(await store.recentDeliveries(5)).toEqual(new Map([["a", [1500]]]));
    });

    test("the dearest route leaves no rest, and a rest of nothing writes no movement", async () => {
      const deed = await admit(store, account);
      await store.commit([startedDeed(deed, 1, 1, "c"), capturedDeed(deed.seq, 2, 1, 110)]);
      expect((await store.movementsOf(deed.seq)).map(({ kind }) => kind)).toEqual(["hold", "capture"]);
      expect(await balance()).toEqual([890, 0, 110, 0]);
    });

    test("a failure gives everything back, also from the queue at the first step", async () => {
      const deed = await admit(store, account);
      const outcome = await commitOne(store, releasedDeed(deed.seq, 1));
      expect(outcome).toMatchObject({
        kind: "stepped",
        record: { status: "failed", costCredits: 0, error: { code: "timed_out" }, attempts: 0 },
      });
      expect(await balance()).toEqual([1000, 0, 0, 0]);
      expect((await store.journalOf(deed.seq)).map((line) => [line.version, line.event.type, line.stateAfter])).toEqual([
        [1, "deadline", "failed"],
      ]);
    });

    test("a step of another version, a repeated one and one after the end are stale and write nothing", async () => {
      const deed = await admit(store, account);
      expect((await commitOne(store, stepDeed(deed.seq, 2))).kind).toBe("stale");
      await store.commit([startedDeed(deed)]);
      expect((await commitOne(store, startedDeed(deed))).kind).toBe("stale");
      await store.commit([capturedDeed(deed.seq, 2, 1, 75)]);
      expect((await commitOne(store, releasedDeed(deed.seq, 3))).kind).toBe("stale");
      expect((await commitOne(store, stepDeed(12345, 1))).kind).toBe("stale");
      expect(await store.journalOf(deed.seq)).toHaveLength(2);
      expect(await balance()).toEqual([925, 0, 75, 0]);
    });

    test("of two ends in one batch the first wins", async () => {
      const deed = await admit(store, account);
      await store.commit([startedDeed(deed)]);
      const outcomes = await store.commit([capturedDeed(deed.seq, 2, 1, 75), releasedDeed(deed.seq, 2)]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(["stepped", "stale"]);
      expect(await balance()).toEqual([925, 0, 75, 0]);
    });

    test("a capture that is not the attempt's price is refused alone, and the rest of its batch is done", async () => {
      const deed = await admit(store, account);
      const neighbour = admitDeed(account);
      await store.commit([startedDeed(deed)]);
      const outcomes = await store.commit([neighbour, capturedDeed(deed.seq, 2, 1, 76), admitDeed(account)]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(["admitted", "refused", "admitted"]);
      expect(outcomes[1]).toEqual({ kind: "refused", reason: "attempt 1 was quoted 75 credits and the capture is 76" });
      expect(await balance()).toEqual([670, 330, 0, 3]);
      expect(await store.attempt(deed.seq, 1)).toMatchObject({ state: "accepted" });
      expect(await store.journalOf(deed.seq)).toHaveLength(1);
    });

    test.each([
      ["an attempt that was never begun", (seq: number) => capturedDeed(seq, 2, 9, 75)],
      ["a step that ends without a settlement", (seq: number) => stepDeed(seq, 2, { snapshot: null })],
      ["success without money", (seq: number) => stepDeed(seq, 2, { status: "succeeded" })],
      ["the way back to the queue", (seq: number) => stepDeed(seq, 2, { status: "queued", attempts: 0 })],
      [
        "a second attempt with the first one's number",
        (seq: number) => startedDeed({ ...admitDeed({ seq: 1, id: "", keySeq: 1, keyHash: "" }), seq }, 2, 1),
      ],
      [
        "another route time for a running attempt",
        (seq: number) => stepDeed(seq, 2, { attemptChanges: [{ n: 1, endsAtMs: NOW_MS + 9 }] }),
      ],
      ["a second request for an attempt", (seq: number) => stepDeed(seq, 2, { attemptChanges: [{ n: 1, request: "{}" }] })],
      ["another job for an attempt", (seq: number) => stepDeed(seq, 2, { attemptChanges: [{ n: 1, job: { jobId: "other" } }] })],
    ])("%s is refused and changes nothing", async (_name, step) => {
      const deed = await admit(store, account);
      await store.commit([startedDeed(deed)]);
      const before = [await store.generationBySeq(deed.seq), await store.attemptsOf(deed.seq), await balance()];
      expect(await commitOne(store, step(deed.seq))).toMatchObject({ kind: "refused", reason: expect.any(String) });
      expect([await store.generationBySeq(deed.seq), await store.attemptsOf(deed.seq), await balance()]).toEqual(before);
      expect((await commitOne(store, stepDeed(deed.seq, 2))).kind).toBe("stepped");
    });

    test("a job that one attempt owns is never taken by another", async () => {
      const [one, two] = [await admit(store, account), await admit(store, account)];
      await store.commit([startedDeed(one)]);
      const jobId = `job-${one.seq}-1`;
      expect(await store.jobOwner("fal", jobId)).toEqual({ seq: one.seq, n: 1 });
      expect(await store.jobOwner("replicate", jobId)).toBeUndefined();
      const thief = startedDeed(two);
      thief.attemptChanges = thief.attemptChanges.map((change) => (change.job ? { ...change, job: { jobId } } : change));
      expect((await commitOne(store, thief)).kind).toBe("refused");
    });

    test("an attempt is read back with everything that was written of it", async () => {
      const deed = await admit(store, account);
      await store.commit([
        startedDeed(deed),
        stepDeed(deed.seq, 2, {
          attemptChanges: [
            {
              n: 1,
              state: "lost",
              failure: { class: "gone", detail: "404" },
              watchUntilMs: NOW_MS + 900_000,
              results: [{ url: "https://up.example/f" }],
            },
          ],
        }),
      ]);
      expect(await store.attemptsOf(deed.seq)).toEqual([
        {
          seq: deed.seq,
          n: 1,
          ref: `${deed.id.slice(4)}-1`,
          route: { routeId: "a", provider: "fal", endpoint: "video/fast", options: { tier: "std" }, kind: "video" },
          priceCredits: 75,
          state: "lost",
          request: '{"method":"POST"}',
          sentAtMs: NOW_MS + 500,
          endsAtMs: NOW_MS + 600_500,
          job: { jobId: `job-${deed.seq}-1`, urls: { poll: "https://up.example/1" } },
          results: [{ url: "https://up.example/f" }],
          failure: { class: "gone", detail: "404" },
          watchUntilMs: NOW_MS + 900_000,
          endedAtMs: NOW_MS + 2000,
        },
      ]);
    });

    test("after the end an attempt can be marked late and unwatched, and never sent or charged", async () => {
      const deed = await admit(store, account);
      const mark = (change: object) =>
        commitOne(store, { deed: "mark-attempt", seq: deed.seq, atMs: NOW_MS + 9000, change: { n: 1, ...change } });
      await store.commit([startedDeed(deed)]);
      expect((await mark({ watchUntilMs: null })).kind).toBe("refused");
      await store.commit([
        releasedDeed(deed.seq, 2, { attemptChanges: [{ n: 1, state: "capped", watchUntilMs: NOW_MS + 900_000 }] }),
      ]);
      expect(await store.watchedAttempts(0, 10)).toMatchObject([{ seq: deed.seq, n: 1, state: "capped" }]);
      expect((await mark({ state: "delivered" })).kind).toBe("refused");
      expect((await mark({ state: "sending" })).kind).toBe("refused");
      expect(await mark({ state: "late", watchUntilMs: null })).toEqual({ kind: "done" });
      expect(await store.watchedAttempts(0, 10)).toEqual([]);
      expect(await store.attempt(deed.seq, 1)).toMatchObject({ state: "late", endedAtMs: NOW_MS + 9000 });
      expect(await balance()).toEqual([1000, 0, 0, 0]);
    });

    test("a late delivery of an earlier attempt is charged at its own quote before the end", async () => {
      const deed = await admit(store, account);
      await store.commit([
        startedDeed(deed),
        stepDeed(deed.seq, 2, { attemptChanges: [{ n: 1, state: "lost", watchUntilMs: NOW_MS + 900_000 }] }),
        startedDeed(deed, 3, 2, "b"),
        { ...capturedDeed(deed.seq, 4, 1, 75), attemptChanges: [{ n: 2, state: "superseded", watchUntilMs: NOW_MS + 900_000 }] },
      ]);
      expect(await store.generationBySeq(deed.seq)).toMatchObject({ status: "succeeded", costCredits: 75, attempts: 2 });
      expect((await store.attemptsOf(deed.seq)).map(({ state }) => state)).toEqual(["delivered", "superseded"]);
      expect(await store.watchedAttempts(0, 10)).toMatchObject([{ n: 2 }]);
    });

    test("commands are replaced as a set, kept when a step does not name them, and gone at the end", async () => {
      const deed = await admit(store, account);
      const commands = async () => (await store.unfinished(0, 10))[0]?.commands;
      await store.commit([startedDeed(deed), stepDeed(deed.seq, 2)]);
      expect(await commands()).toEqual([{ kind: "attempt", n: 1, dueAtMs: NOW_MS + 600_500 }]);
      await store.commit([
        stepDeed(deed.seq, 3, {
          commands: [
            { kind: "collect", n: 1, dueAtMs: 7 },
            { kind: "attempt", n: 1, dueAtMs: 9 },
          ],
        }),
      ]);
      expect(await commands()).toEqual([
        { kind: "collect", n: 1, dueAtMs: 7 },
        { kind: "attempt", n: 1, dueAtMs: 9 },
      ]);
      await store.commit([stepDeed(deed.seq, 4, { commands: [{ kind: "attempt", n: 1, dueAtMs: NOW_MS + 600_500 }] })]);
    });

    test("a message is set while running and cleared by the end", async () => {
      const deed = await admit(store, account);
      await store.commit([startedDeed(deed), stepDeed(deed.seq, 2, { message: "Confirming." }), stepDeed(deed.seq, 3)]);
      expect(await store.generationBySeq(deed.seq)).toMatchObject({ status: "running", message: "Confirming." });
      await store.commit([releasedDeed(deed.seq, 4, { attemptChanges: [{ n: 1, state: "failed" }] })]);
      expect(await store.generationBySeq(deed.seq)).toMatchObject({ message: null });
    });

    test("unfinished generations come in pages, oldest first, however many have ended between them", async () => {
      const open: number[] = [];
      await topUp(store, account.seq, 1000);
      for (let i = 0; i < 6; i++) {
        open.push((await admit(store, account)).seq);
        await succeed(store, account);
      }
      const first = await store.unfinished(0, 4);
      const second = await store.unfinished(first.at(-1)?.seq ?? 0, 4);
      expect([...first, ...second].map(({ seq }) => seq)).toEqual(open);
    });

    test("a generation is found on its own account and by its whole id only", async () => {
      const deed = await admit(store, account);
      const other = await openAccount(store, 0);
      expect(await store.generationById(deed.id, other.seq)).toBeUndefined();
      const forged = deed.id.slice(0, -1) + (deed.id.endsWith("0") ? "1" : "0");
      expect(await store.generationById(forged, account.seq)).toBeUndefined();
      expect(await store.findGeneration(forged)).toBeUndefined();
      expect(await store.generationById("gen_../../etc", account.seq)).toBeUndefined();
    });

    test("a payment with a reference is credited once", async () => {
      expect(await topUp(store, account.seq, 500, "pay_1")).toMatchObject({ kind: "done", credits: 500 });
      expect(await topUp(store, account.seq, 500, "pay_1")).toMatchObject({ kind: "done", credits: 0 });
      const other = await openAccount(store, 0);
      expect((await topUp(store, other.seq, 500, "pay_1")).kind).toBe("refused");
      expect(await balance()).toEqual([1500, 0, 0, 0]);
    });

    test("a dispute takes at most what is available, the rest is owed and the account is paused", async () => {
      await admit(store, account);
      const dispute = {
        deed: "credit",
        accountSeq: account.seq,
        kind: "adjust",
        credits: -1000,
        note: "dispute",
        reference: "dp_1",
        atMs: NOW_MS,
      } as const;
      expect(await commitOne(store, dispute)).toMatchObject({ kind: "done", credits: -890 });
      expect(await commitOne(store, dispute)).toMatchObject({ kind: "done", credits: 0 });
      expect(await store.account(account.id)).toMatchObject({
        availableCredits: 0,
        heldCredits: 110,
        owedCredits: 110,
        paused: true,
      });
      expect(await commitOne(store, { ...dispute, reference: "dp_2", credits: -5 })).toEqual({ kind: "done", credits: 0 });
      expect(await store.account(account.id)).toMatchObject({ owedCredits: 115 });
    });

    test.each([0, -5, 0.5, Number.MAX_SAFE_INTEGER, Number.NaN])("a top-up of %d is refused", async (credits) => {
      expect((await topUp(store, account.seq, credits)).kind).toBe("refused");
      expect(await balance()).toEqual([1000, 0, 0, 0]);
    });

    test("the movements of an account come in pages in the order of its chain", async () => {
      await openAccount(store, 5);
      for (let i = 0; i < 3; i++) await succeed(store, account);
      const all = await store.movements(account.id, 0, 100);
      expect(all.map(({ chainSeq }) => chainSeq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      expect(await store.movements(account.id, all[3]?.seq ?? 0, 2)).toEqual(all.slice(4, 6));
      expect(all[1]).toMatchObject({
        accountId: account.id,
        kind: "hold",
        credits: 110,
        availableAfter: 890,
        heldAfter: 110,
        note: null,
      });
    });

    test("keys open their account until they are revoked", async () => {
      expect(await store.callerByKeyHash(account.keyHash)).toEqual({
        keySeq: account.keySeq,
        keyId: expect.any(String),
        scope: "generate",
        accountSeq: account.seq,
        accountId: account.id,
        paused: false,
        burstPerS: null,
        inProgressLimit: null,
      });
      await store.commit([{ deed: "set-account", accountSeq: account.seq, paused: true, burstPerS: 7 }]);
      expect(await store.callerByKeyHash(account.keyHash)).toMatchObject({ paused: true, burstPerS: 7 });
      await store.commit([{ deed: "set-account", accountSeq: account.seq, paused: false, burstPerS: null, inProgressLimit: 3 }]);
      expect(await store.callerByKeyHash(account.keyHash)).toMatchObject({ paused: false, burstPerS: null, inProgressLimit: 3 });
      const [key] = await store.keys(account.id);
      await store.commit([{ deed: "revoke-key", keyId: key?.id ?? "", atMs: NOW_MS + 1 }]);
      expect(await store.callerByKeyHash(account.keyHash)).toBeUndefined();
      expect(await store.keys(account.id)).toMatchObject([{ revokedAtMs: NOW_MS + 1 }]);
      expect((await commitOne(store, { deed: "revoke-key", keyId: "key_none", atMs: NOW_MS })).kind).toBe("refused");
    });

    test("files past their retention are listed until they are marked", async () => {
      const deed = await succeed(store, account);
      expect(await store.expiredFiles(NOW_MS + 604_799_999, 10)).toEqual([]);
      expect(await store.expiredFiles(NOW_MS + 604_800_000, 10)).toEqual([{ seq: deed.seq, id: deed.id, files: 1 }]);
      const mark = { deed: "expire-files", seq: deed.seq, atMs: NOW_MS + 604_800_001 } as const;
      expect([await commitOne(store, mark), await commitOne(store, mark)]).toEqual([{ kind: "done" }, { kind: "done" }]);
      expect(await store.expiredFiles(NOW_MS + 604_800_002, 10)).toEqual([]);
      expect(await store.generationBySeq(deed.seq)).toMatchObject({ filesExpiredAtMs: NOW_MS + 604_800_001, output: OUTPUT });
    });

    test("time that was seen, route health and secrets stay", async () => {
      await store.commit([
        { deed: "beat", atMs: NOW_MS + 50 },
        { deed: "beat", atMs: NOW_MS },
      ]);
      expect(await store.lastSeenMs()).toBe(NOW_MS + 50);
      await store.commit([{ deed: "save-route-health", routeId: "a", snapshot: "{}", atMs: 1 }]);
      await store.commit([{ deed: "save-route-health", routeId: "a", snapshot: '{"open":1}', atMs: 2 }]);
      expect(await store.routeHealth()).toEqual(new Map([["a", '{"open":1}']]));
      const secret = await store.secret("links");
      expect(secret).toMatch(/^[0-9a-f]{64}$/);
      expect(await store.secret("links")).toBe(secret);
      expect(await store.secret("other")).not.toBe(secret);
      expect(await store.mode()).toBe("test");
    });

    test("an empty batch is answered, and commits sent together are answered each with its own", async () => {
      expect(await store.commit([])).toEqual([]);
      const deeds = Array.from({ length: 9 }, () => admitDeed(account));
      const answers = await Promise.all(deeds.map((deed) => store.commit([deed])));
      expect(answers.map(([one]) => (one?.kind === "admitted" ? one.record.id : one?.kind))).toEqual(deeds.map(({ id }) => id));
    });
  });
};
