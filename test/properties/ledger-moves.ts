// Moves of the ledger's property: every valid or invalid request to the ledger, as plain JSON.
import fc from "fast-check";
import type { FaultKind } from "./database.ts";

/** `at` picks one of the existing generations, `n` one of its attempts. */
export type Move =
  | { move: "topUp"; account: number; credits: number; reference: number | null }
  | { move: "adjust"; account: number; credits: number; reference: number | null }
  | { move: "admit"; account: number; routes: number; key: number | null; body: number; limit: number; endUser: boolean }
  | { move: "admitAgain"; at: number; routes: number }
  | { move: "limit"; account: number; day: number | null }
  | { move: "endUserLimit"; account: number; total: number | null }
  | { move: "begin"; at: number; isSent: boolean }
  | { move: "note"; at: number }
  | { move: "capture"; at: number; n: number; price: "its own" | "another route's" | "more than the hold" | "less" }
  | { move: "release"; at: number }
  | { move: "halfAnEnd"; at: number; lacks: "settlement" | "snapshot" }
  | { move: "mark"; at: number; n: number; as: "late" | "over" | "delivered" }
  | { move: "stale"; at: number; by: number };

/** A commit of one or more moves, with or without a fault; or a restart. */
export type Commit = { moves: Move[]; fault: { kind: FaultKind; at: number } | null } | "restart";

/** Beyond this, integers are not exact: no balance may reach it. */
export const MOST_CREDITS = 9_007_199_254_740_991n;

const account = fc.nat(1);
const at = fc.nat(20);
const n = fc.integer({ min: 1, max: 3 });
const reference = fc.option(fc.nat(2), { freq: 3 });
const amount = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 600 }) },
  // The same amount with the same reference is one top-up.
  { weight: 4, arbitrary: fc.constantFrom(100, 110, 200) },
  { weight: 1, arbitrary: fc.constantFrom(0, -5, 0.5, Number(MOST_CREDITS), Number(MOST_CREDITS) + 1, Number.NaN) },
);

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ move: fc.constant("topUp" as const), account, credits: amount, reference }) },
  {
    weight: 2,
    arbitrary: fc.record({
      move: fc.constant("adjust" as const),
      account,
      credits: fc.oneof(fc.integer({ min: -400, max: 200 }), fc.constantFrom(-100, 100, 0, 1.5)),
      reference,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      move: fc.constant("admit" as const),
      account,
      routes: fc.integer({ min: 1, max: 3 }),
      key: fc.option(fc.nat(3), { freq: 2 }),
      body: fc.nat(1),
      limit: fc.constantFrom(1, 2, 3, 1000, 1000),
      endUser: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      move: fc.constant("endUserLimit" as const),
      account,
      total: fc.constantFrom(null, -1, 0, 110, 300, 500, 1000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ move: fc.constant("admitAgain" as const), at, routes: fc.integer({ min: 1, max: 3 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ move: fc.constant("limit" as const), account, day: fc.constantFrom(null, 0, 110, 300, 500, 1000) }),
  },
  { weight: 5, arbitrary: fc.record({ move: fc.constant("begin" as const), at, isSent: fc.constantFrom(true, true, false) }) },
  { weight: 1, arbitrary: fc.record({ move: fc.constant("note" as const), at }) },
  {
    weight: 5,
    arbitrary: fc.record({
      move: fc.constant("capture" as const),
      at,
      n,
      price: fc.constantFrom("its own", "its own", "its own", "another route's", "more than the hold", "less"),
    }),
  },
  { weight: 3, arbitrary: fc.record({ move: fc.constant("release" as const), at }) },
  {
    weight: 1,
    arbitrary: fc.record({ move: fc.constant("halfAnEnd" as const), at, lacks: fc.constantFrom("settlement", "snapshot") }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ move: fc.constant("mark" as const), at, n, as: fc.constantFrom("late", "over", "delivered") }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ move: fc.constant("stale" as const), at, by: fc.constantFrom(-1, -2, 1, 5) }),
  },
);

const single = move.map((one): Commit => ({ moves: [one], fault: null }));
const batch = fc.array(move, { minLength: 2, maxLength: 6 });
const fault = fc.record({ kind: fc.constantFrom<FaultKind[]>("written", "lost", "torn", "full", "defect"), at: fc.nat(40) });

/** A life without restarts. */
const calm = fc.oneof(
  { weight: 12, arbitrary: single },
  { weight: 1, arbitrary: batch.map((moves): Commit => ({ moves, fault: null })) },
);
/** A life with restarts and disk faults. */
const rough = fc.oneof(
  { weight: 12, arbitrary: calm },
  { weight: 1, arbitrary: fc.constant<Commit>("restart") },
  { weight: 2, arbitrary: fc.record({ moves: fc.array(move, { minLength: 1, maxLength: 6 }), fault }) },
);

/** At most 100 commits. A restart costs as much as 100 moves, so only one life in twenty has restarts. */
export const lives: fc.Arbitrary<Commit[]> = fc.oneof(
  { weight: 19, arbitrary: fc.array(calm, { minLength: 1, maxLength: 100, size: "max" }) },
  { weight: 1, arbitrary: fc.array(rough, { minLength: 1, maxLength: 40, size: "max" }) },
);
