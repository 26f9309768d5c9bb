// The ledger against a model in big integers: any order of top-ups, holds, captures, releases, adjustments and abuses.
import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import type { AdmitDeed } from "../../src/deeds.ts";
import type { Store } from "../../src/store/store.ts";
import { openHere } from "./opened.ts";
import {
  type Account,
  admitDeed,
  capturedDeed,
  commitOne,
  NOW_MS,
  openAccount,
  PRICES,
  releasedDeed,
  startedDeed,
  topUp,
  violations,
} from "./scene.ts";

type Hold = { deed: AdmitDeed; version: number; ended: boolean };
type Model = { available: bigint; held: bigint; charged: bigint; owed: bigint; put: bigint; holds: Hold[] };
type Real = { store: Store; account: Account };

const ROUTES = ["a", "b", "c"] as const;
type Move =
  | { move: "topUp"; credits: number }
  | { move: "adjust"; credits: number }
  | { move: "hold" }
  | { move: "start"; at: number; route: (typeof ROUTES)[number] }
  | { move: "capture"; at: number; route: (typeof ROUTES)[number] }
  | { move: "captureTooMuch"; at: number }
  | { move: "release"; at: number };

const credits = fc.integer({ min: 1, max: 600 });
const at = fc.nat(30);
const route = fc.constantFrom(...ROUTES);
const moves = fc.array(
  fc.oneof(
    fc.record({ move: fc.constant("topUp" as const), credits }),
    fc.record({ move: fc.constant("adjust" as const), credits: fc.integer({ min: -400, max: 200 }).filter((n) => n !== 0) }),
    { weight: 3, arbitrary: fc.record({ move: fc.constant("hold" as const) }) },
    { weight: 3, arbitrary: fc.record({ move: fc.constant("start" as const), at, route }) },
    { weight: 3, arbitrary: fc.record({ move: fc.constant("capture" as const), at, route }) },
    fc.record({ move: fc.constant("captureTooMuch" as const), at }),
    { weight: 2, arbitrary: fc.record({ move: fc.constant("release" as const), at }) },
  ),
  { minLength: 1, maxLength: 40 },
);

/** Carries a move out on both and checks that the store answered what the model allows. */
const play = async (move: Move, model: Model, { store, account }: Real): Promise<void> => {
  const started = (hold: Hold | undefined): ReturnType<typeof ROUTES.find> =>
    ROUTES.find((name) => hold && hold.version === 1 + ROUTES.indexOf(name) * 10);
  const hold = "at" in move && model.holds.length > 0 ? model.holds[move.at % model.holds.length] : undefined;
  switch (move.move) {
    case "topUp":
      expect((await topUp(store, account.seq, move.credits)).kind).toBe("done");
      model.available += BigInt(move.credits);
      model.put += BigInt(move.credits);
      return;
    case "adjust": {
      const asked = BigInt(move.credits);
      const moved = asked < -model.available ? -model.available : asked;
      const outcome = await commitOne(store, {
        deed: "credit",
        accountSeq: account.seq,
        kind: "adjust",
        credits: move.credits,
        note: "",
        reference: null,
        atMs: NOW_MS,
      });
      expect(outcome).toMatchObject({ kind: "done", credits: Number(moved) });
      model.available += moved;
      model.put += moved;
      model.owed += moved - asked;
      return;
    }
    case "hold": {
      const deed = admitDeed(account);
      const covers = model.available >= 110n;
      expect((await commitOne(store, deed)).kind).toBe(covers ? "admitted" : "insufficient_credits");
      if (!covers) return;
      model.available -= 110n;
      model.held += 110n;
      model.holds.push({ deed, version: 0, ended: false });
      return;
    }
    case "start": {
      if (!hold) return;
      const outcome = await commitOne(store, startedDeed(hold.deed, 1, 1, move.route));
      expect(outcome.kind).toBe(hold.version === 0 && !hold.ended ? "stepped" : "stale");
      if (outcome.kind === "stepped") hold.version = 1 + ROUTES.indexOf(move.route) * 10;
      return;
    }
    case "capture": {
      if (!hold) return;
      const price = BigInt(PRICES[move.route]);
      const outcome = await commitOne(store, capturedDeed(hold.deed.seq, 2, 1, PRICES[move.route]));
      // Twice, after a release, or before anything was sent: stale. At another route's price: refused.
      const expected = hold.ended || hold.version === 0 ? "stale" : started(hold) === move.route ? "stepped" : "refused";
      expect(outcome.kind).toBe(expected);
      if (expected !== "stepped") return;
      hold.ended = true;
      model.held -= 110n;
      model.charged += price;
      model.available += 110n - price;
      return;
    }
    case "captureTooMuch": {
      if (!hold || hold.version === 0) return;
      const outcome = await commitOne(store, capturedDeed(hold.deed.seq, 2, 1, 111));
      expect(outcome.kind).toBe(hold.ended ? "stale" : "refused");
      return;
    }
    case "release": {
      if (!hold) return;
      const version = hold.version === 0 ? 1 : 2;
      const changes = hold.version === 0 ? {} : { attemptChanges: [{ n: 1, state: "failed" as const }] };
      const outcome = await commitOne(store, releasedDeed(hold.deed.seq, version, changes));
      expect(outcome.kind).toBe(hold.ended ? "stale" : "stepped");
      if (hold.ended) return;
      hold.ended = true;
      model.held -= 110n;
      model.available += 110n;
    }
  }
};

const store = await openHere({ path: ":memory:", mode: "test", nowMs: NOW_MS });
afterAll(() => store.close());

test("balances are those of the model after every move, and the books balance at the end", async () => {
  await fc.assert(
    fc.asyncProperty(moves, async (list) => {
      const account = await openAccount(store, 0);
      const model: Model = { available: 0n, held: 0n, charged: 0n, owed: 0n, put: 0n, holds: [] };
      for (const move of list) {
        await play(move, model, { store, account });
        const row = await store.account(account.id);
        expect([row?.availableCredits, row?.heldCredits, row?.chargedCredits, row?.owedCredits, row?.inProgress]).toEqual([
          Number(model.available),
          Number(model.held),
          Number(model.charged),
          Number(model.owed),
          model.holds.filter(({ ended }) => !ended).length,
        ]);
        expect(model.available + model.held + model.charged).toBe(model.put);
      }
    }),
    { numRuns: 300, verbose: 1 },
  );
  expect(await violations(store)).toEqual([]);
});
