// Mutants of the generation statechart, its deadlines and recovery.
import type { Mutant } from "./mutant.ts";

const CHART = "actors/generation/machine.ts";
const ACTIONS = "actors/generation/actions.ts";
const RULES = "actors/generation/guards.ts";
const SNAPSHOT = "actors/generation/snapshot.ts";
const RESTORE = "actors/supervisor/restore.ts";
const HOST = "actors/supervisor/actor-host.ts";
const RESUMING = "actors/supervisor/resume-queue.ts";
const STEP = "src/store/sqlite/apply-transition.ts";

export const LIFE_MUTANTS: readonly Mutant[] = [
  {
    name: "any-attempt",
    breaks: "The machine accepts an event about any attempt: a late response of an old attempt changes the new one.",
    standsFor: "no guard on the attempt number",
    patches: [
      { file: RULES, find: '"n" in event && context.current?.n === event.n;', put: '"n" in event && context.current !== null;' },
    ],
    killer: "machine",
  },
  {
    name: "fallback-while-unconfirmed",
    breaks: "The next route begins when a response is lost, without confirming whether the provider accepted the job.",
    standsFor: "sending is ambiguous",
    patches: [
      {
        file: CHART,
        find: "                answerLost: toConfirming,",
        put: '                answerLost: toNextRoute("closeLost"),',
      },
    ],
    killer: "machine",
  },
  {
    name: "refund-on-unknown",
    breaks: "A lost response ends the generation with a release although the job may deliver.",
    standsFor: "refund on an unknown outcome",
    patches: [
      {
        file: CHART,
        find: "                answerLost: toConfirming,",
        put: '                answerLost: { guard: "isCurrent", target: "#generation.failed", actions: ["closeLost", "releaseFailed"] },',
      },
    ],
    killer: "machine",
  },
  {
    name: "charge-the-first-route",
    breaks: "The charge is the first route's price, whichever route delivered.",
    standsFor: "invariant 4: the charge is the quote of the attempt that delivered",
    patches: [
      {
        file: ACTIONS,
        find: "n: event.n, credits: route.priceCredits, output",
        put: "n: event.n, credits: context.plan[0]?.priceCredits ?? 0, output",
      },
    ],
    killer: "machine",
  },
  {
    name: "price-at-settlement",
    breaks: "The charge is the route's price in the catalogue at delivery, not the quoted price.",
    standsFor: "priced at the settlement",
    patches: [
      {
        file: "src/app/engine.ts",
        find: "  const { post } = ledger;\n",
        put: `  const post: Ledger["post"] = async (mutation) => {
    if (mutation.mutation !== "step" || mutation.settlement?.kind !== "capture") return await ledger.post(mutation);
    const routeId = (await store.attempt(mutation.seq, mutation.settlement.n))?.route.routeId ?? "";
    const usd = Number(routes.catalogue().route(routeId)?.route.rates[0]?.usd ?? 0);
    return await ledger.post({ ...mutation, settlement: { ...mutation.settlement, credits: Math.ceil(usd * 100) } });
  };
`,
      },
    ],
    killer: "simulation",
  },
  {
    name: "late-result-at-current-price",
    breaks: "A late result of a lost attempt is charged at the price of the current attempt.",
    standsFor: "a late result",
    patches: [
      {
        file: ACTIONS,
        find: "const delivering = current?.n === event.n ? current :",
        put: "const delivering = current ? current :",
      },
    ],
    killer: "machine",
  },
  {
    name: "max-wait-ignored",
    breaks: "A route begins after the waiting time is over.",
    standsFor: "max_wait_s passes while queued or between routes",
    patches: [
      {
        file: RULES,
        find: "context.nextRoute < context.plan.length &&\n  event.atMs < context.waitEndsAtMs &&",
        put: "context.nextRoute < context.plan.length &&",
      },
      {
        file: RULES,
        find: "export const isInTime = ({ context, event }: GuardArgs): boolean => event.atMs < context.waitEndsAtMs;",
        put: "export const isInTime = ({ event }: GuardArgs): boolean => event.atMs > 0;",
      },
    ],
    killer: "machine",
  },
  {
    name: "cap-moved",
    breaks: "The time of a route restarts with each sending.",
    standsFor: "the cap counts from the first sending",
    patches: [
      { file: ACTIONS, find: "context.current.endsAtMs ?? event.atMs + route.timeoutMs", put: "event.atMs + route.timeoutMs" },
    ],
    killer: "machine",
  },
  {
    name: "cap-ignored",
    breaks: "A job that never ends is polled without a limit.",
    standsFor: "a limit of 40 minutes for each attempt",
    patches: [
      {
        file: CHART,
        find: '            jobFailed: failOrToNextRoute("closeFailed"),\n            attemptTimeEnded: toNextRoute("closeCapped"),',
        put: '            jobFailed: failOrToNextRoute("closeFailed"),',
      },
    ],
    killer: "simulation",
    seed: 60,
  },
  {
    name: "timer-lost",
    breaks: "A restored generation has no deadline.",
    standsFor: "XState does not re-arm timers on restore",
    patches: [
      {
        file: RESTORE,
        find: "const deadline = deadlineOf(resting);",
        put: "const deadline = null as ReturnType<typeof deadlineOf>;",
      },
    ],
    killer: "simulation",
  },
  {
    name: "deadline-restarted",
    breaks: "Every restart restarts the time of an attempt.",
    standsFor: "deadlines are absolute",
    patches: [
      {
        file: RESTORE,
        find: "const deadline = deadlineOf(resting);",
        put: `const kept = deadlineOf(resting);
  const deadline = kept && { ...kept, dueAtMs: kept.dueAtMs + nowMs - found.createdAtMs };`,
      },
    ],
    killer: "machine",
  },
  {
    name: "full-disk-forgets",
    breaks: "After a full disk the generation continues from a state that was not written.",
    standsFor: "a full disk loses nothing",
    patches: [
      {
        file: HOST,
        find: "        this.forsake(living);\n        await this.deps.space();",
        put: "        await this.deps.space();",
      },
    ],
    killer: "machine",
  },
  {
    name: "stale-deadline-counts",
    breaks: "A stale deadline fires although an earlier event has replaced it.",
    standsFor: "deadlines are durable",
    patches: [{ file: HOST, find: " || isStaleDeadline(before, event)) continue;", put: ") continue;" }],
    killer: "machine",
  },
  {
    name: "only-last-event-written",
    breaks: "Of several events of one transition, only the last is in the journal.",
    standsFor: "every event is in the journal",
    patches: [{ file: STEP, find: "eventsOf(version, mutation.earlier, mutation)", put: "eventsOf(version, [], mutation)" }],
    killer: "simulation",
  },
  {
    name: "watch-forgotten",
    breaks: "After a restart the service does not watch an attempt that was given up and may still deliver.",
    standsFor: "late success of route A",
    patches: [
      { file: SNAPSHOT, find: "return effect ? [effect, ...later] : later;", put: "return effect ? [effect] : later.slice(1);" },
    ],
    killer: "machine",
  },
  {
    name: "restored-never-asked",
    breaks: "The effects of restored generations are never performed, so they make no progress.",
    standsFor: "a deployment during a generation; running effects are not part of a snapshot",
    patches: [{ file: RESUMING, find: "deps.perform(seq, effect);", put: "void seq;" }],
    killer: "resuming",
  },
  {
    name: "resend-on-recovery",
    breaks: "A request that may have been sent before the process ended is sent again at the next start.",
    standsFor: "an effect in flight runs again on restore",
    patches: [
      { file: RESTORE, find: ' && effect.type !== "effect.send"),', put: ")," },
      { file: RESTORE, find: "return wasSending ? {", put: "return wasSending && n < 0 ? {" },
    ],
    killer: "simulation",
  },
  {
    name: "resend-after-lost-answer",
    breaks: "A submission whose response was lost is sent again without confirmation.",
    standsFor: "fal-js: submit is retried on 502 and on socket errors",
    patches: [
      {
        file: CHART,
        find: "                answerLost: toConfirming,",
        put: '                answerLost: { guard: "isCurrent", target: "intent" },',
      },
    ],
    killer: "simulation",
  },
];
