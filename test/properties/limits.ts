// Property of key limits: a new limit counts earlier holds and charges of its rotated keys in UTC days, weeks and months.
import fc from "fast-check";
import { hashApiKey, newApiKey, newId } from "../../src/domain/ids.ts";
import type { Credits, KeyWindow } from "../../src/domain/types.ts";
import type { Store } from "../../src/store/store.ts";
import {
  type Account,
  admitMutation,
  capturedMutation,
  commitOne,
  NOW_MS,
  openAccount,
  PRICES,
  releasedMutation,
  startedMutation,
  submittedAt,
  violations,
} from "../store/fixture.ts";
import { openHere } from "../store/open-store.ts";
import type { Property } from "./property.ts";

/** `key` picks one of the existing keys, `at` one of the generations. `pass` moves the time to, before or past a boundary. */
type Move =
  | { move: "submit"; key: number }
  | { move: "end"; at: number; how: "capture" | "release" }
  | { move: "limit"; key: number; window: KeyWindow; credits: Credits | null }
  | { move: "rotate"; key: number }
  | { move: "rollUp"; transfers: number }
  | { move: "pass"; to: KeyWindow; byMs: number };
type Life = { fromMs: number; moves: Move[] };

const WINDOWS = ["day", "week", "month"] as const;
const window = fc.constantFrom<KeyWindow[]>(...WINDOWS);
const key = fc.nat(5);
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ move: fc.constant("submit" as const), key }) },
  {
    weight: 5,
    arbitrary: fc.record({
      ...{ move: fc.constant("end" as const), at: fc.nat(30) },
      how: fc.constantFrom<("capture" | "release")[]>("capture", "capture", "release"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ move: fc.constant("limit" as const), key, window },
      credits: fc.constantFrom(null, 110, 185, 300, 555, 1000, 2000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ move: fc.constant("rotate" as const), key }) },
  { weight: 2, arbitrary: fc.record({ move: fc.constant("rollUp" as const), transfers: fc.constantFrom(1, 2, 5, 100) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      move: fc.constant("pass" as const),
      to: window,
      byMs: fc.constantFrom(-1, 0, 1, 3_600_000),
    }),
  },
);
const lives: fc.Arbitrary<Life> = fc.record({
  // A Monday; the last moment of a year; a February of 29 days; a month that begins on a Monday; one that ends on a Sunday.
  fromMs: fc.constantFrom(
    NOW_MS,
    Date.UTC(2026, 11, 31, 23, 59, 59, 999),
    Date.UTC(2028, 1, 28, 12),
    Date.UTC(2027, 1, 1),
    Date.UTC(2027, 0, 31, 23, 59, 59, 999),
  ),
  moves: fc.array(move, { minLength: 5, maxLength: 40, size: "max" }),
});

/** A unique name of a window, computed differently than in the service. */
const nameOf = (of: KeyWindow, ms: number): string => {
  const date = new Date(ms);
  if (of === "week") date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  return date.toISOString().slice(0, of === "month" ? 7 : 10);
};
/** The start of the next window. */
const endOf = (of: KeyWindow, ms: number): number => {
  const date = new Date(ms);
  date.setUTCHours(0, 0, 0, 0);
  do date.setUTCDate(date.getUTCDate() + 1);
  while (nameOf(of, date.getTime()) === nameOf(of, ms));
  return date.getTime();
};

type Line = { limits: Record<KeyWindow, Credits | null> };
type Key = { id: string; seq: number; line: Line; isRotated: boolean };
type Generation = {
  line: Line;
  createdAtMs: number;
  credits: Credits;
  seq: number;
  mutation: ReturnType<typeof admitMutation>;
  isOpen: boolean;
};

const spentOf = (line: Line, of: KeyWindow, nowMs: number, all: readonly Generation[]): Credits =>
  all
    .filter((one) => one.line === line && nameOf(of, one.createdAtMs) === nameOf(of, nowMs))
    .reduce((sum, { credits }) => sum + credits, 0);

const agree = (what: string, seen: unknown, wanted: unknown): void => {
  if (!Bun.deepEquals(seen, wanted))
    throw new Error(`${what} is ${JSON.stringify(seen)} and the model has ${JSON.stringify(wanted)}`);
};
const newLine = (): Line => ({ limits: { day: null, week: null, month: null } });
/** Beyond any life, so that no key expires. */
const OVERLAP_MS = 1e12;
const named = () => ({ id: newId("key"), hash: hashApiKey(newApiKey("test")), start: "gr_test_next" });
const seqOf = (outcome: { kind: string; seq?: number }): number => {
  if (outcome.kind !== "done" || outcome.seq === undefined) throw new Error(JSON.stringify(outcome));
  return outcome.seq;
};

const playLife = async (store: Store, { fromMs, moves }: Life): Promise<void> => {
  const account: Account = await openAccount(store, 1_000_000);
  const base = { accountSeq: account.seq, scope: "generate", name: "another" } as const;
  const other = named();
  const otherSeq = seqOf(await commitOne(store, { mutation: "create-key", ...base, ...other, atMs: fromMs }));
  const firstId = (await store.keys(account.id)).find(({ name }) => name === "laptop")?.id ?? "";
  const keys: Key[] = [
    { id: firstId, seq: account.keySeq, line: newLine(), isRotated: false },
    { id: other.id, seq: otherSeq, line: newLine(), isRotated: false },
  ];
  const made: Generation[] = [];
  let nowMs = fromMs;
  const pick = (at: number): Key => keys[at % keys.length] as Key;

  const submit = async ({ seq: keySeq, line }: Key): Promise<void> => {
    const mutation = { ...admitMutation({ ...account, keySeq }), ...submittedAt(nowMs) };
    const outcome = await commitOne(store, mutation);
    const short = (["month", "week", "day"] as const).find((of) => {
      const limit = line.limits[of];
      return limit !== null && spentOf(line, of, nowMs, made) + PRICES.c > limit;
    });
    if (short === undefined) {
      agree("a submission within its limits", outcome.kind, "admitted");
      made.push({ line, createdAtMs: nowMs, credits: PRICES.c, seq: mutation.seq, mutation, isOpen: true });
      return;
    }
    const limitCredits = line.limits[short] ?? 0;
    const leftCredits = Math.max(0, limitCredits - spentOf(line, short, nowMs, made));
    const error = { kind: "key_limit", window: short, limitCredits, leftCredits, resetsAtMs: endOf(short, nowMs) };
    agree("a submission above a limit", outcome, error);
  };
  const end = async (one: Generation, how: "capture" | "release"): Promise<void> => {
    const mutations =
      how === "capture"
        ? [
            { ...startedMutation(one.mutation), atMs: nowMs },
            { ...capturedMutation(one.seq, 2, 1, PRICES.a), atMs: nowMs },
          ]
        : [releasedMutation(one.seq, 1, { atMs: nowMs })];
    for (const outcome of await store.commit(mutations)) agree("a step", outcome.kind, "stepped");
    one.isOpen = false;
    one.credits = how === "capture" ? PRICES.a : 0;
  };
  const play = async (asked: Move): Promise<void> => {
    if (asked.move === "pass") nowMs = Math.max(nowMs, endOf(asked.to, nowMs) + asked.byMs);
    else if (asked.move === "submit") await submit(pick(asked.key));
    else if (asked.move === "end") {
      const open = made.filter(({ isOpen }) => isOpen);
      const one = open[asked.at % Math.max(1, open.length)];
      if (one) await end(one, asked.how);
    } else if (asked.move === "limit") {
      const { id, line } = pick(asked.key);
      const limits = { [asked.window]: asked.credits };
      agree("a limit", (await commitOne(store, { mutation: "set-key", keyId: id, limits, atMs: nowMs })).kind, "done");
      line.limits[asked.window] = asked.credits;
    } else if (asked.move === "rotate") {
      const old = pick(asked.key);
      if (old.isRotated) return;
      const next = named();
      const mutation = { mutation: "rotate-key", keyId: old.id, overlapMs: OVERLAP_MS, ...next, atMs: nowMs } as const;
      keys.push({ id: next.id, seq: seqOf(await commitOne(store, mutation)), line: old.line, isRotated: false });
      old.isRotated = true;
    } else await commitOne(store, { mutation: "roll-up-usage", limit: asked.transfers });
  };

  for (const asked of moves) {
    await play(asked);
    const spend = await store.keySpend(nowMs, account.id);
    for (const { id, line } of keys) {
      const isHeld = WINDOWS.some((of) => line.limits[of] !== null);
      const spent = Object.fromEntries(WINDOWS.map((of) => [of, spentOf(line, of, nowMs, made)]));
      agree(`what ${id} has spent after ${JSON.stringify(asked)}`, spend.get(id)?.windows, isHeld ? spent : null);
    }
  }
};

/** The number of lives on one store, each with a separate account, before the store is verified and replaced. */
const LIVES_OF_A_STORE = 50;
const ALL = 1_000_000;

const openLives = () => {
  let opening: Promise<Store> | null = null;
  let played = 0;
  let moves = 0;
  const finish = async (): Promise<void> => {
    if (opening === null) return;
    const store = await opening;
    opening = null;
    played = 0;
    const broken = await violations(store, null);
    await store.close();
    agree("what verify finds", broken, []);
  };
  return {
    figures: () => ({ moves }),
    play: async (life: Life): Promise<void> => {
      if (played >= LIVES_OF_A_STORE) await finish();
      played += 1;
      opening ??= openHere({ path: ":memory:", mode: "test", nowMs: NOW_MS });
      const store = await opening;
      // Otherwise leftovers of earlier lives would be summed up first.
      await commitOne(store, { mutation: "roll-up-usage", limit: ALL });
      moves += life.moves.length;
      await playLife(store, life);
    },
    finish,
  };
};

export const limitsProperty: Property<Life> = {
  name: "limits",
  says: "counts all holds and charges of a key and its predecessors in a limit's window, whenever the limit was set",
  runsOf: (runs) => Math.min(runs, Math.max(100, Math.floor(runs / 5))),
  arbitrary: lives,
  open: openLives,
};
