// Explores the generation machine breadth first: every reachable situation, and the effect of each event there.
import { createActor, transition } from "xstate";
import { generationMachine } from "../../actors/generation/machine.ts";
import { deadlineOf, type GenerationSnapshot, isStaleDeadline, leafOf } from "../../actors/generation/snapshot.ts";
import type { GenerationEvent, GenerationEventType } from "../../actors/generation/types.ts";
import type { Failure, PlannedRoute } from "../../src/domain/types.ts";

export const STARTED_AT_MS = Date.UTC(2026, 9, 19, 12);
export const WAIT_MS = 1_000_000;
export const COLLECT_MS = 600_000;

const route = (routeId: string, priceCredits: number, more: Partial<PlannedRoute> = {}): PlannedRoute => ({
  routeId,
  priceCredits,
  timeoutMs: 60_000,
  onRefusal: "fail",
  onLost: "next",
  ...more,
});
/** Plans that together contain every policy of a route. */
export const PLANS: readonly PlannedRoute[][] = [
  [route("a", 20), route("b", 22, { onRefusal: "next" })],
  [route("c", 20, { onLost: "hold", onRefusal: "next" }), route("d", 30, { onLost: "fail" })],
  [route("e", 7)],
];

/** A variant of an event: about the current attempt, a watched one or an unknown one; in time or after the wait. */
export type Variant = {
  type: GenerationEventType;
  of: "current" | "watched" | "stranger" | "none";
  failure?: Failure["class"];
  late?: true;
  /** For a retry: the job of the current attempt is known. */
  hasJob?: true;
  /** For a mismatch: the number that the operator allows. */
  atMost?: number;
};

const NS = ["current", "watched", "stranger"] as const;
const FAILURES = ["refused_input", "rate_limited", "not_sent", "job_failed"] as const;
const ABOUT_AN_ATTEMPT: readonly GenerationEventType[] = [
  "slotTaken",
  "accepted",
  "announced",
  "answerLost",
  "interrupted",
  "provedAbsent",
  "meansExhausted",
  "collected",
  "mismatched",
  "resultUnreadable",
  "storageRefused",
  "storageReturned",
  "woken",
  "attemptTimeEnded",
  "collectTimeEnded",
  "pinLost",
];
const WITH_FAILURE: readonly GenerationEventType[] = ["rejected", "jobFailed", "resultLost", "unsendable"];

export const VARIANTS: readonly Variant[] = [
  ...ABOUT_AN_ATTEMPT.flatMap((type) => NS.map((of): Variant => ({ type, of }))),
  ...WITH_FAILURE.flatMap((type) => FAILURES.flatMap((failure) => NS.map((of): Variant => ({ type, of, failure })))),
  // After the waiting time no new route is tried: the same ends of an attempt, but late.
  { type: "jobFailed", of: "current", failure: "job_failed", late: true },
  { type: "rejected", of: "current", failure: "rate_limited", late: true },
  { type: "attemptTimeEnded", of: "current", late: true },
  { type: "begun", of: "none", late: true },
  { type: "slotTaken", of: "current", late: true },
  { type: "pinned", of: "none" },
  { type: "pinRefused", of: "none" },
  { type: "mismatched", of: "current", late: true },
  { type: "mismatched", of: "current", atMost: 1 },
  { type: "mismatched", of: "current", atMost: 2 },
  { type: "begun", of: "none" },
  { type: "skipped", of: "none" },
  { type: "waitEnded", of: "none" },
  { type: "parked", of: "none" },
  { type: "failedByOperator", of: "none" },
  { type: "cancelRequested", of: "none" },
  { type: "retriedByOperator", of: "none" },
  { type: "retriedByOperator", of: "none", hasJob: true },
  ...NS.map((of): Variant => ({ type: "settledByOperator", of })),
];
const WHY = { by: "Ada", reason: "as reported", decidedAtMs: 1 };

export const nameOf = (variant: Variant) =>
  [
    variant.type,
    variant.of === "none" ? "" : variant.of,
    variant.failure ?? "",
    variant.late ? "late" : "",
    variant.hasJob ? "with its job" : "",
    variant.atMost === undefined ? "" : `at most ${variant.atMost}`,
  ]
    .filter(Boolean)
    .join(":");

/** The event of a variant in a situation; null if there is no such attempt. */
export const eventFor = (variant: Variant, snapshot: GenerationSnapshot, step: number): GenerationEvent | null => {
  const { current, watched, tried, nextRoute, plan } = snapshot.context;
  const atMs = STARTED_AT_MS + (variant.late ? WAIT_MS : 0) + step;
  const n = { current: current?.n, watched: watched[0]?.n, stranger: 99, none: 0 }[variant.of];
  if (n === undefined) return null;
  const failure: Failure = { class: variant.failure ?? "job_failed", detail: "as reported" };
  switch (variant.type) {
    case "begun": {
      const index = Math.min(nextRoute, plan.length - 1);
      const routeId = plan[index]?.routeId ?? "";
      const spec = { routeId, provider: "fal", endpoint: "x/y", options: {}, kind: "image" } as const;
      return { type: "begun", n: tried + 1, route: index, spec, ref: `ref-${tried + 1}`, watchMs: 3_600_000, passed: [], atMs };
    }
    case "pinned":
      return { type: "pinned", copies: [{ n: 1, sha256: "0".repeat(64), bytes: 1, mime: "video/mp4", ms: 4000 }], atMs };
    case "pinRefused":
      return { type: "pinRefused", why: "input.video_url: it is another.", atMs };
    case "pinLost":
      return { type: "pinLost", n, why: "input.video_url: it is gone.", atMs };
    case "skipped":
      return { type: "skipped", passed: [], atMs };
    // A deadline fires when it is due, not before.
    case "waitEnded":
      return { type: "waitEnded", atMs: Math.max(atMs, deadlineOf(snapshot)?.dueAtMs ?? 0) };
    case "attemptTimeEnded":
    case "collectTimeEnded":
      return { type: variant.type, n, atMs: Math.max(atMs, deadlineOf(snapshot)?.dueAtMs ?? 0) };
    case "parked":
      return { type: "parked", reason: "as reported", atMs };
    case "failedByOperator":
      return { type: "failedByOperator", ...WHY, atMs };
    case "cancelRequested":
      return { type: "cancelRequested", by: "key_1", decidedAtMs: atMs, atMs };
    case "retriedByOperator":
      return { type: "retriedByOperator", ...WHY, hasJob: variant.hasJob ?? false, atMs };
    // For an attempt that does not exist, the admin service passes route -1.
    case "settledByOperator": {
      const route = variant.of === "stranger" ? -1 : ([current, ...watched].find((one) => one?.n === n)?.route ?? -1);
      return { type: "settledByOperator", n, route, job: { jobId: `job-${n}` }, ...WHY, atMs };
    }
    case "slotTaken":
      return { type: "slotTaken", n, request: '{"method":"POST"}', atMs };
    case "accepted":
      return { type: "accepted", n, job: { jobId: `job-${n}` }, atMs };
    case "announced":
      return { type: "announced", n, job: { jobId: `job-${n}` }, results: [{ url: "https://files.example/1" }], atMs };
    case "collected":
      return {
        type: "collected",
        n,
        output: { kind: "image", files: [{ n: 1, sha256: "0".repeat(64), bytes: 1, mime: "image/png" }], width: 1, height: 1 },
        atMs,
      };
    case "unsendable":
    case "rejected":
    case "jobFailed":
    case "resultLost":
      return { type: variant.type, n, failure, atMs };
    case "mismatched":
      return {
        ...{ type: "mismatched", n, atMs, mismatch: { what: "length", ordered: "30 s, at least 28.8 s", came: "4 s" } },
        ...(variant.atMost === undefined ? {} : { atMost: variant.atMost }),
      };
    case "answerLost":
    case "resultUnreadable":
    case "storageRefused":
      return { type: variant.type, n, detail: "as reported", atMs };
    default:
      return { type: variant.type, n, atMs };
  }
};

/** A key that distinguishes situations in which the machine behaves differently. */
export const situationOf = (snapshot: GenerationSnapshot): string => {
  const { current, watched, nextRoute, plan, tried, inputRefusals } = snapshot.context;
  return [
    leafOf(snapshot),
    `next ${nextRoute}/${plan.length}`,
    current
      ? [
          `route ${current.route} sends ${Math.min(current.sends, 2)} ${current.endsAtMs === null ? "open" : "capped"}`,
          current.wakeAtMs === null ? "" : "refused",
          current.collectEndsAtMs === null ? "" : "announced",
        ].join(" ")
      : "none",
    `watched ${watched.map((attempt) => `${attempt.route}${attempt.arriving ? "!" : ""}`).join(",")}`,
    `mismatched ${snapshot.context.mismatched?.length ?? 0}`,
    snapshot.context.cancelRequestedAtMs === undefined ? "" : "cancelled",
    inputRefusals === 0 ? "" : inputRefusals === tried ? "all refused" : "some refused",
  ].join(" | ");
};

export type Path = Variant[];
export type Situation = { plan: readonly PlannedRoute[]; path: Path; snapshot: GenerationSnapshot };

/** An actor at the end of a path. */
export const walk = (plan: readonly PlannedRoute[], path: Path) => {
  const actor = createActor(generationMachine, {
    input: { plan, waitEndsAtMs: STARTED_AT_MS + WAIT_MS, collectMs: COLLECT_MS },
  });
  actor.subscribe({ error: () => undefined });
  actor.start();
  path.forEach((variant, step) => {
    const event = eventFor(variant, actor.getSnapshot(), step);
    // As the host does: an event of a stale deadline is dropped.
    if (event && !isStaleDeadline(actor.getSnapshot(), event)) actor.send(event);
  });
  return actor;
};

/** The snapshot after one event, as the host would send it. */
export const after = ({ snapshot, path }: Situation, variant: Variant): GenerationSnapshot => {
  const event = eventFor(variant, snapshot, path.length);
  return event && !isStaleDeadline(snapshot, event) ? transition(generationMachine, snapshot, event)[0] : snapshot;
};

/** Every reachable situation of a plan, each with a shortest path. */
export const explore = (plan: readonly PlannedRoute[]): Map<string, Situation> => {
  const found = new Map<string, Situation>();
  const first = walk(plan, []).getSnapshot();
  found.set(situationOf(first), { plan, path: [], snapshot: first });
  for (const situation of found.values()) {
    const { path, snapshot } = situation;
    if (snapshot.status !== "active") continue;
    for (const variant of VARIANTS) {
      const event = eventFor(variant, snapshot, path.length);
      // Only the supervisor sends begun, and only while a route is left.
      if (!event || (variant.type === "begun" && snapshot.context.nextRoute >= plan.length)) continue;
      const reached = after(situation, variant);
      if (reached.status === "error") throw reached.error;
      const key = situationOf(reached);
      if (!found.has(key)) found.set(key, { plan, path: [...path, variant], snapshot: reached });
    }
  }
  return found;
};
