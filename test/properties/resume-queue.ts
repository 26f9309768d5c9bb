// Property of the resume queue: effects of restored generations are performed after open, each once and in order.
import fc from "fast-check";
import type { Effect } from "../../actors/generation/types.ts";
import { createResumeQueue } from "../../actors/supervisor/resume-queue.ts";
import type { Property } from "./property.ts";

/** A generation is restored with an effect or with an obsolete one; the service opens; the event loop makes a turn. */
type Happening = { what: "restored" | "over" | "open" | "round"; times: number };

const happenings = fc.array(
  fc.record({
    what: fc.constantFrom<Happening["what"]>("restored", "restored", "over", "open", "round"),
    times: fc.oneof(fc.constantFrom(1, 2), fc.nat(120)),
  }),
  { maxLength: 12 },
);

const playStart = async (story: readonly Happening[]): Promise<void> => {
  const asked: number[] = [];
  const wanted: number[] = [];
  const rounds: (() => void)[] = [];
  let isOpen = false;
  let seq = 0;
  const resuming = createResumeQueue({
    perform: (of) => {
      if (!isOpen) throw new Error(`${of} was asked before the service was open`);
      asked.push(of);
    },
    breathe: () => new Promise((resolve) => rounds.push(resolve)),
  });
  const goRound = async () => {
    rounds.shift()?.();
    for (let hop = 0; hop < 5; hop += 1) await null;
  };
  for (const { what, times } of [...story, { what: "open", times: 1 } as const])
    for (let turn = 0; turn < times; turn += 1)
      if (what === "open") {
        isOpen = true;
        resuming.open();
      } else if (what === "round") await goRound();
      else {
        seq += 1;
        const ask: Effect | null = what === "restored" ? { type: "effect.poll", n: 1 } : null;
        if (ask) wanted.push(seq);
        resuming.later(seq, () => ask);
      }
  for (let turn = 0; rounds.length > 0; turn += 1) {
    if (turn > seq + 10) throw new Error("it never ends");
    await goRound();
  }
  if (asked.join() !== wanted.join()) throw new Error(`asked ${asked.join() || "nothing"}, not ${wanted.join()}`);
};

export const resumingProperty: Property<Happening[]> = {
  name: "resuming",
  says: "performs the effects of restored generations after the service is open, each once and in order, never before",
  runsOf: (runs) => runs,
  arbitrary: happenings,
  open: () => ({ play: playStart }),
};
