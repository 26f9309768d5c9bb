// The history of a generation: after each stored event it equals the record that was committed with it.
import { expect, test } from "bun:test";
import type { GenerationRecord } from "../../src/domain/types.ts";
import { historyOf } from "../../src/event-streams/history.ts";
import { openHarness } from "../harness.ts";

const INPUT = { resolution: "480p", duration: 4 };
const PROMPTS = [
  "a kite",
  "[sim:fail]",
  "[sim:fal:fail-later] a kite",
  "[sim:drop-after] a kite",
  "[sim:fal:cut] a kite",
  "[sim:429] a kite",
  "[sim:refused] a kite",
  "[sim:fal:short] a kite",
];

test("the history derived from any number of stored events ends with the state that was committed", async () => {
  const harness = await openHarness({ env: { GENROUTER_LIMITS__MAX_RUNNING: "2" } });
  const committed = new Map<string, GenerationRecord>();
  harness.components.watch.committed = (mutation, outcome) => {
    if (mutation.mutation === "step" && outcome.kind === "stepped")
      committed.set(`${outcome.record.seq} ${mutation.version}`, outcome.record);
  };
  const made = await Promise.all(PROMPTS.map((prompt) => harness.submit("vidmodel-2.0-fast", { ...INPUT, prompt })));
  const unsent = await harness.submit("vidmodel-2.0-fast", { ...INPUT, prompt: "cancelled" });
  await harness.request("POST", `/v1/generations/${unsent.id}/cancel`);
  const types = new Set<string>();
  for (const { id } of [...made, unsent]) {
    await harness.until(id);
    const { seq = 0 } = (await harness.store.findGeneration(id)) ?? {};
    const stored = await harness.store.eventsOf(seq);
    const end = (await harness.store.generationBySeq(seq)) as GenerationRecord;
    for (const [at, { version }] of stored.entries()) {
      const events = historyOf(end, stored.slice(0, at + 1));
      // Events that were committed together share the record of the last.
      const record = committed.get(`${seq} ${version}`);
      if (record) {
        const { status, message, attempts, output } = record;
        expect(events.at(-1)?.record).toMatchObject({ status, message, attempts, output });
      }
      for (const { type } of events) types.add(type);
    }
    const sequences = historyOf(end, stored).map(({ sequence }) => sequence);
    expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b));
  }
  expect([...types].sort()).toEqual([
    "generation.failed",
    "generation.queued",
    "generation.running",
    "generation.succeeded",
    "generation.updated",
  ]);
  await harness.close();
});
