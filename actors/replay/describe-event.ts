// Describes the events of a generation, one sentence each.
import { describeMismatch, type Odd } from "../../src/domain/delivery-check.ts";
import type { GenerationEvent } from "../generation/types.ts";

/** Context of a sentence: the states before and after, and names for routes. */
export type Scene = { from: string; to: string; routeName: (routeId: string) => string; resent: boolean };

const GIVEN: Readonly<Record<NonNullable<Extract<GenerationEvent, { type: "slotTaken" }>["givenAs"]>, string>> = {
  link: "with signed links to the pinned inputs",
  upload: "with the pinned inputs in its provider's own storage",
  inline: "with the pinned inputs inside it",
};

const attempt = (n: number) => `attempt ${n}`;

/** What follows the end of an attempt. */
const after = ({ from, to }: Scene): string => {
  if (to === "running.awaitingSeat") return "; the next route has its turn (fallback)";
  if (to === "running.backingOff") return "; the same route is asked again later";
  if (to === "failed") return "; nothing is left to try";
  return to.startsWith("running.collecting") && !from.startsWith("running.collecting")
    ? "; an earlier attempt's files are on their way"
    : "";
};

const oddly = (odd: Odd | undefined): string => {
  const { fewer, longer, unmeasured } = odd ?? {};
  const text = [
    ...(fewer ? [`${fewer.came} of ${fewer.promised} files came`] : []),
    ...(longer ? [`${longer.cameMs / 1000} s came where ${longer.orderedMs / 1000} s are billed`] : []),
    ...(unmeasured ? ["their length cannot be measured"] : []),
  ];
  return text.length > 0 ? ` (${text.join(", ")})` : "";
};

/** One sentence without its period. */
export const describeEvent = (event: GenerationEvent, scene: Scene): string => {
  const ofWatched = scene.from === scene.to ? ", which was given up before" : "";
  switch (event.type) {
    case "begun": {
      const passed = event.passed.map(({ routeId, reason }) => `${scene.routeName(routeId)} passed over: ${reason}`);
      const begins =
        scene.to === "failed"
          ? "its place in the run queue came after the end of max_wait_s"
          : `${attempt(event.n)} begins on ${scene.routeName(event.spec.routeId)}`;
      return [begins, ...passed].join("; ");
    }
    case "pinned":
      return "the links whose length is billed are pinned";
    case "pinRefused":
      return "a pinned link is not what was measured, or cannot be fetched";
    case "pinLost":
      return `${attempt(event.n)} was not sent: a pinned link and its copy are gone`;
    case "unsendable":
      return `${attempt(event.n)} was not sent: its provider cannot be given a pinned copy${after(scene)}`;
    case "skipped":
      return "no route is left that could take it";
    case "slotTaken":
      if (scene.to !== "running.submitting.sending") return `${attempt(event.n)} was not sent: the waiting time was over`;
      return scene.resent
        ? `${attempt(event.n)} is sent again`
        : `the exact request of ${attempt(event.n)} is on disk and sent${event.givenAs ? `, ${GIVEN[event.givenAs]}` : ""}`;
    case "accepted":
      return scene.from.startsWith("running.confirming")
        ? `confirmed: the provider has ${attempt(event.n)}`
        : `the provider accepted ${attempt(event.n)}${ofWatched}`;
    case "announced":
      return `the result of ${attempt(event.n)} is announced${ofWatched}`;
    case "rejected":
      return `the provider refused ${attempt(event.n)}${after(scene)}`;
    case "answerLost":
      return `the answer about ${attempt(event.n)} was lost; the provider is asked (confirming)`;
    case "interrupted":
      return `restart: the process ended while ${attempt(event.n)} may have been out; the provider is asked before anything is sent (confirming)`;
    case "provedAbsent":
      return `proved: the provider never had ${attempt(event.n)}${after(scene)}`;
    case "meansExhausted":
      return `no way is left to learn what became of ${attempt(event.n)}${after(scene)}`;
    case "jobFailed":
      return `the provider failed ${attempt(event.n)}${after(scene)}`;
    case "collected":
      return `the files of ${attempt(event.n)} are kept${oddly(event.odd)}; it is charged and the rest of the hold released`;
    case "mismatched":
      return `what ${attempt(event.n)} delivered is not what was ordered (${describeMismatch(event.mismatch)}); nothing is charged for it${after(scene)}`;
    case "resultUnreadable":
      return `the result of ${attempt(event.n)} could not be read; it is asked for again (confirming)`;
    case "resultLost":
      return `the result of ${attempt(event.n)} cannot be had${after(scene)}`;
    case "storageRefused":
      return "our own storage refuses; it waits";
    case "storageReturned":
      return "our own storage takes files again";
    case "woken":
      return `the pause is over; ${attempt(event.n)} has its turn again`;
    case "attemptTimeEnded":
      return `the time of ${attempt(event.n)} is over${after(scene)}`;
    case "collectTimeEnded":
      return scene.to === "running.collecting.stalled"
        ? "our own storage still refuses; it waits on"
        : `the time for collecting the files of ${attempt(event.n)} is over${after(scene)}`;
    case "waitEnded":
      return scene.to === "failed" ? "the waiting time is over" : `the waiting time is over${after(scene)}`;
    case "parked":
      return "the store refused the settlement; it is parked, with its hold";
    case "failedByOperator":
      return `${event.by} ended it: ${event.reason}`;
    case "retriedByOperator":
      return `${event.by} retried it: ${event.reason}`;
    case "settledByOperator":
      return `${event.by} settled it, ${attempt(event.n)}: ${event.reason}`;
    default:
      return (event satisfies never as { type: string }).type;
  }
};
