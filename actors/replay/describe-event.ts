// Describes the events of a generation, one sentence each.
import { describeMismatch, type Odd } from "../../src/domain/delivery-check.ts";
import type { GenerationEvent } from "../generation/types.ts";

/** Context of a sentence: the states before and after, and names for routes. */
export type Scene = { from: string; to: string; routeName: (routeId: string) => string; resent: boolean };

const GIVEN: Readonly<Record<NonNullable<Extract<GenerationEvent, { type: "slotTaken" }>["givenAs"]>, string>> = {
  link: "with signed links to its input files",
  upload: "with its input files in the provider's own storage",
  inline: "with its input files inside the request",
};

const attempt = (n: number) => `attempt ${n}`;

/** The consequence of the end of an attempt. */
const after = ({ from, to }: Scene): string => {
  if (to === "running.awaitingSlot") return "; the next route is tried (fallback)";
  if (to === "running.backingOff") return "; the same route is tried again later";
  if (to === "failed") return "; no route is left";
  return to.startsWith("running.collecting") && !from.startsWith("running.collecting")
    ? "; the files of an earlier attempt are being collected"
    : "";
};

const oddly = (odd: Odd | undefined): string => {
  const { fewer, longer, unmeasured } = odd ?? {};
  const text = [
    ...(fewer ? [`${fewer.came} of ${fewer.promised} files were delivered`] : []),
    ...(longer ? [`${longer.cameMs / 1000} s were delivered, ${longer.orderedMs / 1000} s are billed`] : []),
    ...(unmeasured ? ["the length of the files cannot be measured"] : []),
  ];
  return text.length > 0 ? ` (${text.join(", ")})` : "";
};

/** One sentence without its period. */
export const describeEvent = (event: GenerationEvent, scene: Scene): string => {
  const ofWatched = scene.from === scene.to ? ", which had already been given up" : "";
  switch (event.type) {
    case "begun": {
      const passed = event.passed.map(({ routeId, reason }) => `${scene.routeName(routeId)} skipped: ${reason}`);
      const begins =
        scene.to === "failed"
          ? "max_wait_s expired before a place in the run queue was free"
          : `${attempt(event.n)} begins on ${scene.routeName(event.spec.routeId)}`;
      return [begins, ...passed].join("; ");
    }
    case "pinned":
      return "the input links whose length is billed are pinned";
    case "pinRefused":
      return "an input link cannot be downloaded, or its file has changed";
    case "pinLost":
      return `${attempt(event.n)} was not sent: the pinned input is missing and its link returns a different file`;
    case "unsendable":
      return `${attempt(event.n)} was not sent: an input file cannot be transferred to its provider${after(scene)}`;
    case "skipped":
      return "no remaining route can run the generation";
    case "slotTaken":
      if (scene.to !== "running.submitting.sending") return `${attempt(event.n)} was not sent: the waiting time had expired`;
      return scene.resent
        ? `${attempt(event.n)} is sent again`
        : `the exact request of ${attempt(event.n)} is stored and sent${event.givenAs ? `, ${GIVEN[event.givenAs]}` : ""}`;
    case "accepted":
      return scene.from.startsWith("running.confirming")
        ? `confirmed: the provider accepted ${attempt(event.n)}`
        : `the provider accepted ${attempt(event.n)}${ofWatched}`;
    case "announced":
      return `the provider reports the result of ${attempt(event.n)}${ofWatched}`;
    case "rejected":
      return `the provider rejected ${attempt(event.n)}${after(scene)}`;
    case "answerLost":
      return `the response to ${attempt(event.n)} was lost; the provider is queried (confirming)`;
    case "interrupted":
      return `restart: ${attempt(event.n)} may have been sent; the provider is queried (confirming)`;
    case "provedAbsent":
      return `proved: the provider never received ${attempt(event.n)}${after(scene)}`;
    case "meansExhausted":
      return `no further query can determine the outcome of ${attempt(event.n)}${after(scene)}`;
    case "jobFailed":
      return `the job of ${attempt(event.n)} failed at the provider${after(scene)}`;
    case "collected":
      return `the files of ${attempt(event.n)} are stored${oddly(event.odd)}; the attempt is charged and the rest of the hold is released`;
    case "mismatched":
      return `the delivery of ${attempt(event.n)} does not match the order (${describeMismatch(event.mismatch)}); nothing is charged for it${after(scene)}`;
    case "resultUnreadable":
      return `the result of ${attempt(event.n)} could not be read; it is requested again (confirming)`;
    case "resultLost":
      return `the result of ${attempt(event.n)} is not available${after(scene)}`;
    case "storageRefused":
      return "result storage is unavailable; the generation waits";
    case "storageReturned":
      return "result storage is available again";
    case "woken":
      return `the back-off pause has ended; ${attempt(event.n)} is submitted again`;
    case "attemptTimeEnded":
      return `the route timeout of ${attempt(event.n)} has expired${after(scene)}`;
    case "collectTimeEnded":
      return scene.to === "running.collecting.stalled"
        ? "result storage is still unavailable"
        : `the time for collecting the files of ${attempt(event.n)} has expired${after(scene)}`;
    case "waitEnded":
      return scene.to === "failed" ? "the waiting time has expired" : `the waiting time has expired${after(scene)}`;
    case "parked":
      return "the generation is parked for an operator; its hold is kept";
    case "failedByOperator":
      return `${event.by} ended the generation: ${event.reason}`;
    case "retriedByOperator":
      return `${event.by} retried the generation: ${event.reason}`;
    case "settledByOperator":
      return `${event.by} settled the generation with ${attempt(event.n)}: ${event.reason}`;
    case "cancelRequested":
      return scene.to === "failed"
        ? "the client cancelled the generation"
        : "the client requested the cancellation; no attempt begins from now on";
    default:
      return (event satisfies never as { type: string }).type;
  }
};
