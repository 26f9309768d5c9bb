// Tests replay: the real machine over stored events reproduces every event, and replay reports stored events that were changed.
import { expect, test } from "bun:test";
import { chartOf } from "../../actors/chart/chart.ts";
import { applyEvent } from "../../actors/generation/apply-event.ts";
import { generationMachine } from "../../actors/generation/machine.ts";
import { leafOf } from "../../actors/generation/snapshot.ts";
import { beginning, tryEvent } from "../../actors/replay/dry-run.ts";
import { type Replayed, replay, type WrittenStep, wayOf } from "../../actors/replay/replay.ts";
import type { Store } from "../../src/store/store.ts";
import { eventful } from "../generation/eventful.ts";
import { COLLECT_MS, eventFor, explore, PLANS, STARTED_AT_MS, WAIT_MS } from "./explore.ts";

const stored = async (store: Store, id: string): Promise<Replayed & { seq: number }> => {
  const record = await store.findGeneration(id);
  if (!record) throw new Error(`no generation ${id}`);
  const agreed = await store.planOf(record.seq);
  if (!agreed) throw new Error(`no plan of ${id}`);
  const [events, transfers] = await Promise.all([store.eventsOf(record.seq), store.transfersOf(record.seq)]);
  return { seq: record.seq, createdAtMs: record.createdAtMs, collectMs: COLLECT_MS, ...agreed, journal: events, transfers };
};

const replayable = async () => {
  const { again, id } = await eventful();
  return { again, given: await stored(again.store, id) };
};

test("replays a restart, a fallback and a confirmation in agreement with events, attempts and ledger", async () => {
  const { again, given } = await replayable();
  const { steps, agrees, faults } = replay(given);
  expect({ agrees, faults }).toEqual({ agrees: true, faults: [] });

  // The steps are exactly the stored events, in their order.
  expect(steps.slice(1).map(({ version, atMs, event, to }) => ({ version, atMs, event, stateAfter: to }))).toEqual([
    ...given.journal,
  ]);
  expect(steps.map(({ from, event, to }) => `${from} ${event?.type ?? "acceptance"} ${to}`)).toEqual([
    "null acceptance queued",
    "queued begun running.submitting.intent",
    "running.submitting.intent slotTaken running.submitting.sending",
    "running.submitting.sending interrupted running.confirming.acceptance",
    "running.confirming.acceptance provedAbsent running.awaitingSlot",
    "running.awaitingSlot begun running.submitting.intent",
    "running.submitting.intent slotTaken running.submitting.sending",
    "running.submitting.sending answerLost running.confirming.acceptance",
    "running.confirming.acceptance accepted running.polling",
    "running.polling announced running.collecting.fetching",
    "running.collecting.fetching collected succeeded",
  ]);
  // Each step took a transition of the chart that leads to its state; the guards before it did not hold.
  const { transitions } = chartOf(generationMachine);
  for (const step of steps.slice(1)) {
    const taken = transitions.find(({ id }) => id === step.transition);
    expect(taken?.event).toBe(step.event?.type ?? "");
    expect(step.from?.startsWith(taken?.source ?? "?")).toBe(true);
    expect(step.to.startsWith(taken?.target ?? "?")).toBe(true);
    expect(step.considered.map(({ holds }) => holds)).toEqual([...step.considered.slice(1).map(() => false), true]);
  }
  expect([...wayOf(steps).values()].flat().sort((a, b) => a - b)).toEqual(given.journal.map(({ version }) => version));

  const reported = steps.map((step) => step.description).join("\n");
  expect(reported).toContain("restart: attempt 1 may have been sent");
  expect(reported).toContain("proved: the provider never received attempt 1; the next route is tried (fallback)");
  expect(reported).toContain("attempt 2 begins on life/spare");
  expect(reported).toContain("the response to attempt 2 was lost");
  expect(reported).toContain("confirmed: the provider accepted attempt 2");

  // Each transfer is beside the step that made it.
  expect(steps.flatMap(({ version, transfers }) => transfers.map(({ kind, credits }) => [version, kind, credits]))).toEqual([
    [0, "hold", 30],
    [10, "capture", 30],
  ]);
  expect(steps.at(-1)?.settlement).toEqual({ kind: "capture", n: 2, credits: 30 });
  // The attempt states of the replay are the stored ones.
  const states = new Map<number, string>();
  for (const { notes } of steps) for (const { n, state } of notes) if (state) states.set(n, state);
  expect([...states]).toEqual((await again.store.attemptsOf(given.seq)).map(({ n, state }) => [n, state]));
  expect(steps.flatMap(({ effects: asks }) => asks.map(({ type }) => type))).toContain("effect.confirm");
  expect(JSON.stringify(steps)).not.toContain("kite");
});

const changed = (journal: readonly WrittenStep[], version: number, change: Partial<WrittenStep> | null): WrittenStep[] =>
  journal.flatMap((line) => (line.version !== version ? [line] : change === null ? [] : [{ ...line, ...change }]));

test("names the step at which changed events or transfers disagree with the machine", async () => {
  const { given } = await replayable();
  const faultsOf = (change: Partial<Replayed>) => replay({ ...given, ...change }).faults;
  const { journal, transfers } = given;
  const TAMPERED: [name: string, change: Partial<Replayed>, fault: RegExp][] = [
    [
      "a state",
      { journal: changed(journal, 4, { stateAfter: "running.polling" }) },
      /^step 4: the statechart enters running.awaitingSlot; the stored state is running.polling$/,
    ],
    [
      "an event",
      { journal: changed(journal, 8, { event: { type: "rejected", n: 2, failure: { class: "job_failed", detail: "" } } }) },
      /^step 8: the statechart has no transition/,
    ],
    [
      "an attempt",
      { journal: changed(journal, 9, { event: { type: "announced", n: 1, results: [] } }) },
      /^step 9: the statechart has no transition/,
    ],
    ["a line", { journal: changed(journal, 3, null) }, /^step 4: event 3 is missing$/],
    [
      "an unknown route",
      { journal: changed(journal, 5, { event: { type: "begun", n: 2, route: 7 } }) },
      /^step 5: the statechart failed on this event/,
    ],
    [
      "an unknown event",
      { journal: changed(journal, 7, { event: { type: "granted", n: 2 } }) },
      /^step 7: the statechart has no transition/,
    ],
    [
      "an unknown state",
      { journal: changed(journal, 9, { stateAfter: "running.flying" }) },
      /^step 9: .* the stored state is running.flying$/,
    ],
    [
      "a charge",
      { transfers: transfers.map((each) => (each.kind === "capture" ? { ...each, credits: 29 } : each)) },
      /^step 10: the statechart charges 30 credits, the ledger 29$/,
    ],
    ["a hold", { transfers: transfers.filter(({ kind }) => kind !== "hold") }, /^step 0: the ledger has 0 holds/],
    ["an end", { journal: changed(journal, 10, null) }, /^step 9: the ledger has settled the hold, but no stored event does$/],
  ];
  for (const [name, change, fault] of TAMPERED) {
    const [first = "no fault"] = faultsOf(change);
    expect(`${name}: ${first}`).toMatch(new RegExp(fault.source.replace("^", `^${name}: `)));
  }
});

test("replays a path into every situation of the machine to the same state", () => {
  const { transitions } = chartOf(generationMachine);
  const ids = new Set(transitions.map(({ id }) => id));
  let replayed = 0;
  for (const plan of PLANS)
    for (const { path, snapshot } of explore(plan).values()) {
      const given = { plan, waitEndsAtMs: STARTED_AT_MS + WAIT_MS, collectMs: COLLECT_MS };
      let before = beginning(given).after;
      const journal: WrittenStep[] = [];
      for (const [at, variant] of path.entries()) {
        const event = eventFor(variant, before, at);
        if (!event) throw new Error(`the path breaks at ${variant.type}`);
        const { after, outputs: sayings } = tryEvent(before, event);
        const step = applyEvent(1, journal.length + 1, event, before, after, sayings, 0);
        before = after;
        if (step) journal.push({ ...step.mutation });
      }
      const held = Math.max(...plan.map(({ priceCredits }) => priceCredits));
      const hold = { atMs: STARTED_AT_MS, kind: "hold", credits: held, from: "available", to: "held", attemptN: null } as const;
      // Only the machine's part is checked: no transfer has settled these generations.
      const { steps } = replay({ ...given, createdAtMs: STARTED_AT_MS, journal, transfers: [hold] });
      expect(steps.at(-1)?.to).toBe(leafOf(snapshot));
      for (const { fault, transition, version, description: reported } of steps) {
        expect(fault ?? "").not.toMatch(/machine (goes|has no|cannot)/);
        expect(version === 0 || ids.has(transition ?? "")).toBe(true);
        expect(reported).not.toContain("undefined");
      }
      replayed += 1;
    }
  expect(replayed).toBeGreaterThan(100);
}, 60_000);
