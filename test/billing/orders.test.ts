// Property test of purchase events: any order and repetition leads to the same balance, and the invariants hold.
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Mutation } from "../../src/domain/mutations.ts";
import type { ReversalState } from "../../src/domain/purchase-mutations.ts";
import { NOW_MS, openAccount, violations } from "../store/fixture.ts";
import { openHere } from "../store/open-store.ts";
import { decideMutation, foreignMutation, openPurchaseMutation, payMutation, reversalMutation } from "../store/purchases.ts";

const PAID = 2500;
const SEED = 20_261_124;
const RUNS = 150;

/** A refund or dispute with all its reported states; the last one is final. */
type Story = { kind: "refund" | "dispute"; credits: number; states: ReversalState[]; decided: number | null };
/** Null for USD; otherwise the credits that an operator decides for another currency. */
const decided = fc.option(fc.integer({ min: 0, max: 1500 }), { freq: 3 });
const refund = fc.record({
  kind: fc.constant("refund" as const),
  credits: fc.integer({ min: 1, max: 1500 }),
  states: fc.constantFrom<ReversalState[]>(["taken"], ["taken", "returned"]),
  decided,
});
const dispute = fc.record({
  kind: fc.constant("dispute" as const),
  credits: fc.integer({ min: 1, max: PAID }),
  states: fc.constantFrom<ReversalState[]>(
    ["asked"],
    ["asked", "taken", "lost"],
    ["taken", "returned"],
    ["taken", "lost", "returned"],
    ["taken"],
    // Lost after it was won, and later won again.
    ["taken", "returned", "lost"],
    ["taken", "lost", "returned", "lost"],
    ["asked", "taken", "returned", "taken", "lost", "returned"],
  ),
  decided,
});
const life = fc.record({
  stories: fc.array(fc.oneof(refund, dispute), { maxLength: 4 }),
  /** Other adjustments of the balance meanwhile. */
  others: fc.array(fc.integer({ min: -2000, max: 2000 }).filter(Boolean), { maxLength: 4 }),
  times: fc.integer({ min: 1, max: 3 }),
  order: fc.infiniteStream(fc.nat(1_000_000)),
});

/** Sorts by the drawn numbers. */
const shuffled = <T>(all: T[], order: Iterator<number>): T[] =>
  all
    .map((one) => ({ one, at: order.next().value ?? 0 }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);

test(`purchase events in any order and number lead to the same balance and keep the invariants (${RUNS} runs)`, async () => {
  const store = await openHere({ path: ":memory:", mode: "test" });
  let lives = 0;
  await fc.assert(
    fc.asyncProperty(life, async ({ stories, others, times, order }) => {
      const name = `n${++lives}`;
      const account = await openAccount(store, 0);
      const idOf = ({ kind }: Story, i: number) => `${kind}_${name}_${i}`;
      const reported = stories.flatMap((story: Story, i): Mutation[] =>
        story.states.map((state, second) => {
          const so = { kind: story.kind, state, reportedAtMs: NOW_MS + second * 1000 };
          if (story.decided === null) return reversalMutation(idOf(story, i), name, story.credits, so);
          return foreignMutation(idOf(story, i), name, story.credits, so);
        }),
      );
      const news: Mutation[] = [payMutation(name, PAID), ...reported];
      const adjusted = others.map(
        (credits): Mutation => ({
          ...{
            mutation: "credit",
            accountSeq: account.seq,
            kind: "adjust",
            credits,
            note: "other",
            reference: null,
            atMs: NOW_MS,
          },
        }),
      );
      await store.commit([openPurchaseMutation(account.seq, name, PAID)]);
      for (const mutation of shuffled(
        [...Array.from({ length: times }, () => news).flat(), ...adjusted],
        order[Symbol.iterator](),
      ))
        expect((await store.commit([mutation]))[0]?.kind).not.toBe("refused");

      const isTaken = ({ states }: Story) => ["taken", "lost"].includes(states.at(-1) ?? "");
      const waiting = stories.flatMap((story, i) => (story.decided !== null && isTaken(story) ? [idOf(story, i)] : []));
      const undecided = (await store.undecidedReversals(100)).map(({ id }) => id);
      expect(undecided.sort()).toEqual(waiting.sort());
      if (waiting.length > 0) expect((await store.account(account.id))?.paused).toBe(true);
      for (const [i, story] of stories.entries())
        if (story.decided !== null && isTaken(story))
          expect(await store.commit([decideMutation(idOf(story, i), story.decided)])).toMatchObject([{ kind: "done" }]);
      // Applying all events again changes nothing.
      for (const mutation of shuffled(news, order[Symbol.iterator]()))
        expect(await store.commit([mutation])).toMatchObject([{ changed: false, transferredCredits: 0 }]);

      const last = stories.map(({ states, credits, decided }) => ({ state: states.at(-1), credits: decided ?? credits }));
      const due = last
        .filter(({ state }) => state === "taken" || state === "lost")
        .reduce((sum, { credits }) => sum + credits, 0);
      const row = await store.account(account.id);
      const put = others.reduce((sum, credits) => sum + credits, 0);
      expect((row?.availableCredits ?? 0) - (row?.owedCredits ?? 0)).toBe(put + PAID - Math.min(PAID, due));
      expect(await store.purchase(`pur_${name}`)).toMatchObject({ state: "paid", reversedCredits: Math.min(PAID, due) });
      // Only a debt pauses the account here, and an account with a debt has no available credits.
      expect(row?.paused).toBe((row?.owedCredits ?? 0) > 0);
      expect(row?.owedCredits === 0 || row?.availableCredits === 0).toBe(true);
    }),
    { numRuns: RUNS, seed: SEED },
  );
  expect(await violations(store)).toEqual([]);
  await store.close();
}, 30_000);
