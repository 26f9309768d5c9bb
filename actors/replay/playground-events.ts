// Events that the playground offers for a generation, with plausible contents.
import type { AnyMachineSnapshot, EventObject } from "xstate";
import type { FailureClass, PlannedRoute } from "../../src/domain/types.ts";
import { deadlineOf, eventOf, type GenerationSnapshot } from "../generation/snapshot.ts";
import type { GenerationEvent, GenerationInput } from "../generation/types.ts";

/** `about`: number of the attempt, if it is not the current one. */
export type Choice = { id: string; label: string; about: number | null; event: EventObject & { atMs?: number } };

/** 2026-01-01T00:00Z as an arbitrary start. */
export const FIRST_MS = 1_767_225_600_000;
const MINUTE_MS = 60_000;
const route = (
  routeId: string,
  priceCredits: number,
  onRefusal: "next" | "fail",
  onLost: PlannedRoute["onLost"],
): PlannedRoute => ({
  ...{ routeId, priceCredits, onRefusal, onLost },
  timeoutMs: 10 * MINUTE_MS,
});
/** One route of each kind of behavior after a rejected input and an unknown outcome. */
const SAMPLE_PLAN: readonly PlannedRoute[] = [
  route("cheap", 20, "next", "next"),
  route("middle", 25, "fail", "next"),
  route("holding", 30, "fail", "hold"),
  route("failing", 35, "fail", "fail"),
];
/** Four routes with rising prices, an hour to wait and ten minutes to collect. */
export const SAMPLE_INPUT: GenerationInput = {
  plan: SAMPLE_PLAN,
  waitEndsAtMs: FIRST_MS + 60 * MINUTE_MS,
  collectMs: 10 * MINUTE_MS,
};

type PlayedEvent = Omit<Choice, "event"> & { event: GenerationEvent };

const failed = (failureClass: FailureClass) => ({ class: failureClass, detail: "played by hand" });
const OUTPUT = {
  kind: "image",
  files: [{ n: 1, sha256: "0".repeat(64), bytes: 71_000, mime: "image/png" }],
  width: 64,
  height: 64,
} as const;

/** Events about an attempt. */
const aboutAttempt = (n: number, atMs: number): Omit<PlayedEvent, "about">[] => [
  { id: "slotTaken", label: "a connection is free", event: { type: "slotTaken", n, request: "{}", atMs } },
  { id: "accepted", label: "the provider accepts", event: { type: "accepted", n, job: { jobId: `job-${n}` }, atMs } },
  {
    id: "announced",
    label: "its result is announced",
    event: { type: "announced", n, results: [{ url: "https://files.example/1.png" }], atMs },
  },
  {
    id: "collected",
    label: "its files are kept",
    event: { type: "collected", n, output: { ...OUTPUT, files: [...OUTPUT.files] }, atMs },
  },
  { id: "rejected", label: "refused: overloaded", event: { type: "rejected", n, failure: failed("overloaded"), atMs } },
  {
    id: "rate_limited",
    label: "refused: too many requests",
    event: { type: "rejected", n, failure: failed("rate_limited"), atMs },
  },
  {
    id: "refused_input",
    label: "refused: the input itself",
    event: { type: "rejected", n, failure: failed("refused_input"), atMs },
  },
  { id: "jobFailed", label: "the job fails", event: { type: "jobFailed", n, failure: failed("job_failed"), atMs } },
  {
    id: "jobRefused",
    label: "the job fails: the input itself",
    event: { type: "jobFailed", n, failure: failed("refused_input"), atMs },
  },
  { id: "answerLost", label: "its answer is lost", event: { type: "answerLost", n, detail: "played by hand", atMs } },
  { id: "interrupted", label: "the process dies and restarts", event: { type: "interrupted", n, atMs } },
  { id: "provedAbsent", label: "proved: it never arrived", event: { type: "provedAbsent", n, atMs } },
  { id: "meansExhausted", label: "nothing left to ask", event: { type: "meansExhausted", n, atMs } },
  {
    id: "resultUnreadable",
    label: "its files cannot be read",
    event: { type: "resultUnreadable", n, detail: "played by hand", atMs },
  },
  {
    id: "mismatched",
    label: "what it delivers is not what was ordered",
    event: { type: "mismatched", n, mismatch: { what: "length", ordered: "10 s, at least 9.6 s", came: "4 s" }, atMs },
  },
  { id: "resultLost", label: "its result is gone", event: { type: "resultLost", n, failure: failed("gone"), atMs } },
  { id: "storageRefused", label: "our disk is full", event: { type: "storageRefused", n, detail: "played by hand", atMs } },
  { id: "storageReturned", label: "disk space is available again", event: { type: "storageReturned", n, atMs } },
  { id: "woken", label: "its pause is over", event: { type: "woken", n, atMs } },
  {
    id: "unsendable",
    label: "its provider can be given no copy of an input",
    event: { type: "unsendable", n, failure: failed("invalid_for_route"), atMs },
  },
  {
    id: "pinLost",
    label: "the copy of an input is gone",
    event: { type: "pinLost", n, why: "input.video_url: its link does not lead to the same file any more.", atMs },
  },
];

/** A place becomes free on the next route, or on the one after it because the next is down. */
const begins = ({ tried, nextRoute, plan }: GenerationSnapshot["context"], atMs: number): PlayedEvent[] =>
  plan.slice(nextRoute, nextRoute + 2).map(({ routeId }, skipped) => {
    const n = tried + 1;
    const spec = { routeId, provider: "fal", endpoint: `play/${routeId}`, options: {}, kind: "image" } as const;
    const passed = plan
      .slice(nextRoute, nextRoute + skipped)
      .map((route) => ({ routeId: route.routeId, reason: "down" as const }));
    const event = {
      type: "begun",
      n,
      route: nextRoute + skipped,
      spec,
      ref: `play-${n}`,
      watchMs: 60 * MINUTE_MS,
      passed,
      atMs,
    } as const;
    return skipped === 0
      ? { id: "begun", label: `a place on ${routeId}`, about: null, event }
      : { id: "begun-next", label: `a place on ${routeId}, the previous route is down`, about: null, event };
  });

/** Decisions of an operator. */
const decisions = ({ current }: GenerationSnapshot["context"], atMs: number): PlayedEvent[] => {
  const why = { by: "an operator", reason: "played by hand", decidedAtMs: atMs, atMs };
  const retried = (id: string, label: string, hasJob: boolean): PlayedEvent => ({
    ...{ id, label, about: null },
    event: { type: "retriedByOperator", hasJob, ...why },
  });
  const { n, route } = current ?? { n: 0, route: -1 };
  return [
    { id: "failedByOperator", label: "an operator ends it", about: null, event: { type: "failedByOperator", ...why } },
    retried("retriedByOperator", "an operator has it asked about again", false),
    retried("retriedWithJob", "an operator has its job asked about again", true),
    {
      ...{ id: "settledByOperator", label: "an operator says that it has delivered", about: null },
      event: { type: "settledByOperator", n, route, ...why },
    },
  ];
};

/** All events for a generation in its state. */
export const choicesOfGeneration = ({ snapshot, nowMs }: { snapshot: AnyMachineSnapshot; nowMs: number }): PlayedEvent[] => {
  const generation = snapshot as GenerationSnapshot;
  const { current, watched, plan, nextRoute } = generation.context;
  const passed = plan.slice(nextRoute).map(({ routeId }) => ({ routeId, reason: "down" as const }));
  const deadline = snapshot.status === "active" ? deadlineOf(generation) : null;
  const due = deadline ? eventOf(deadline, Math.max(nowMs, deadline.dueAtMs)) : null;
  return [
    {
      id: "pinned",
      label: "its links are pinned",
      about: null,
      event: {
        type: "pinned",
        copies: [{ n: 1, sha256: "0".repeat(64), bytes: 71_000, mime: "video/mp4", ms: 4000 }],
        atMs: nowMs,
      },
    },
    {
      id: "pinRefused",
      label: "a link is not what was measured",
      about: null,
      event: { type: "pinRefused", why: "input.video_url: the file that was fetched is longer.", atMs: nowMs },
    },
    ...begins(generation.context, nowMs),
    { id: "skipped", label: "no route can take it", about: null, event: { type: "skipped", passed, atMs: nowMs } },
    ...aboutAttempt(current?.n ?? 0, nowMs).map((choice) => ({ ...choice, about: null })),
    ...(due ? [{ id: "due", label: `its time runs out (${due.type})`, about: null, event: due }] : []),
    {
      id: "parked",
      label: "the ledger refuses: a defect",
      about: null,
      event: { type: "parked", reason: "played by hand", atMs: nowMs },
    },
    ...decisions(generation.context, nowMs),
    ...watched.flatMap(({ n }) => aboutAttempt(n, nowMs).map((choice) => ({ ...choice, id: `${choice.id}-${n}`, about: n }))),
  ];
};
