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

const failed = (failureClass: FailureClass) => ({ class: failureClass, detail: "sent from the playground" });
const OUTPUT = {
  kind: "image",
  files: [{ n: 1, sha256: "0".repeat(64), bytes: 71_000, mime: "image/png" }],
  width: 64,
  height: 64,
} as const;

/** Events about an attempt. */
const aboutAttempt = (n: number, atMs: number): Omit<PlayedEvent, "about">[] => [
  { id: "slotTaken", label: "a provider connection is available", event: { type: "slotTaken", n, request: "{}", atMs } },
  { id: "accepted", label: "the provider accepts the job", event: { type: "accepted", n, job: { jobId: `job-${n}` }, atMs } },
  {
    id: "announced",
    label: "the provider reports the result",
    event: { type: "announced", n, results: [{ url: "https://files.example/1.png" }], atMs },
  },
  {
    id: "collected",
    label: "the result files are stored",
    event: { type: "collected", n, output: { ...OUTPUT, files: [...OUTPUT.files] }, atMs },
  },
  {
    id: "rejected",
    label: "rejected: the provider is overloaded",
    event: { type: "rejected", n, failure: failed("overloaded"), atMs },
  },
  {
    id: "rate_limited",
    label: "rejected: rate limit exceeded",
    event: { type: "rejected", n, failure: failed("rate_limited"), atMs },
  },
  {
    id: "refused_input",
    label: "rejected: content rules refuse the input",
    event: { type: "rejected", n, failure: failed("refused_input"), atMs },
  },
  { id: "jobFailed", label: "the job fails", event: { type: "jobFailed", n, failure: failed("job_failed"), atMs } },
  {
    id: "jobRefused",
    label: "the job fails: content rules refuse the input",
    event: { type: "jobFailed", n, failure: failed("refused_input"), atMs },
  },
  { id: "answerLost", label: "the response is lost", event: { type: "answerLost", n, detail: "sent from the playground", atMs } },
  { id: "interrupted", label: "the process restarts during the request", event: { type: "interrupted", n, atMs } },
  { id: "provedAbsent", label: "the provider has no job of the attempt", event: { type: "provedAbsent", n, atMs } },
  { id: "meansExhausted", label: "no further lookup is possible", event: { type: "meansExhausted", n, atMs } },
  {
    id: "resultUnreadable",
    label: "the result files cannot be read",
    event: { type: "resultUnreadable", n, detail: "sent from the playground", atMs },
  },
  {
    id: "mismatched",
    label: "the delivery does not match the order",
    event: { type: "mismatched", n, mismatch: { what: "length", ordered: "10 s, at least 9.6 s", came: "4 s" }, atMs },
  },
  {
    id: "resultLost",
    label: "the result is no longer available",
    event: { type: "resultLost", n, failure: failed("gone"), atMs },
  },
  {
    id: "storageRefused",
    label: "result storage is unavailable",
    event: { type: "storageRefused", n, detail: "sent from the playground", atMs },
  },
  { id: "storageReturned", label: "result storage is available again", event: { type: "storageReturned", n, atMs } },
  { id: "woken", label: "the back-off pause ends", event: { type: "woken", n, atMs } },
  {
    id: "unsendable",
    label: "the pinned input cannot be transferred to the provider",
    event: { type: "unsendable", n, failure: failed("invalid_for_route"), atMs },
  },
  {
    id: "pinLost",
    label: "the pinned input is missing",
    event: { type: "pinLost", n, why: "input.video_url: the link returns a different file.", atMs },
  },
];

/** An attempt begins on the next route, or on the route after it because the next is down. */
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
      ? { id: "begun", label: `an attempt begins on ${routeId}`, about: null, event }
      : { id: "begun-next", label: `an attempt begins on ${routeId}; the previous route is down`, about: null, event };
  });

/** Decisions of an operator and of the client. */
const decisions = ({ current }: GenerationSnapshot["context"], atMs: number): PlayedEvent[] => {
  const why = { by: "an operator", reason: "sent from the playground", decidedAtMs: atMs, atMs };
  const retried = (id: string, label: string, hasJob: boolean): PlayedEvent => ({
    ...{ id, label, about: null },
    event: { type: "retriedByOperator", hasJob, ...why },
  });
  const { n, route } = current ?? { n: 0, route: -1 };
  return [
    {
      id: "failedByOperator",
      label: "an operator fails the generation",
      about: null,
      event: { type: "failedByOperator", ...why },
    },
    retried("retriedByOperator", "an operator retries: confirm again", false),
    retried("retriedWithJob", "an operator retries: poll the job again", true),
    {
      ...{ id: "cancelRequested", label: "the client cancels the generation", about: null },
      event: { type: "cancelRequested", by: "key_playground", decidedAtMs: atMs, atMs },
    },
    {
      ...{ id: "settledByOperator", label: "an operator settles: the attempt has delivered", about: null },
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
      label: "the input links are pinned",
      about: null,
      event: {
        type: "pinned",
        copies: [{ n: 1, sha256: "0".repeat(64), bytes: 71_000, mime: "video/mp4", ms: 4000 }],
        atMs: nowMs,
      },
    },
    {
      id: "pinRefused",
      label: "a linked file differs from the measured file",
      about: null,
      event: { type: "pinRefused", why: "input.video_url: the downloaded file is longer.", atMs: nowMs },
    },
    ...begins(generation.context, nowMs),
    { id: "skipped", label: "no route can run the generation", about: null, event: { type: "skipped", passed, atMs: nowMs } },
    ...aboutAttempt(current?.n ?? 0, nowMs).map((choice) => ({ ...choice, about: null })),
    ...(due ? [{ id: "due", label: `the deadline expires (${due.type})`, about: null, event: due }] : []),
    {
      id: "parked",
      label: "the store rejects the settlement (defect)",
      about: null,
      event: { type: "parked", reason: "sent from the playground", atMs: nowMs },
    },
    ...decisions(generation.context, nowMs),
    ...watched.flatMap(({ n }) => aboutAttempt(n, nowMs).map((choice) => ({ ...choice, id: `${choice.id}-${n}`, about: n }))),
  ];
};
