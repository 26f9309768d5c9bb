// Mutants of a generation's life: the chart, its deadlines, and what a restart takes up.
import type { Mutant } from "./mutant.ts";

const CHART = "actors/generation/machine.ts";
const ACTIONS = "actors/generation/actions.ts";
const RULES = "actors/generation/guards.ts";
const SNAPSHOT = "actors/generation/snapshot.ts";
const RESTORE = "actors/supervisor/restore.ts";
const HOST = "actors/supervisor/actor-host.ts";
const RESUMING = "actors/supervisor/resume-queue.ts";

export const LIFE_MUTANTS: readonly Mutant[] = [
  {
    name: "any-attempt",
    breaks: "An event counts whatever attempt it is about: a late answer of an old one moves the new one.",
    standsFor: "no guard on the attempt",
    patches: [
      { file: RULES, find: '"n" in event && context.current?.n === event.n;', put: '"n" in event && context.current !== null;' },
    ],
    killer: "machine",
  },
  {
    name: "fallback-while-unconfirmed",
    breaks: "The next route begins as soon as an answer is lost, without asking whether the job was accepted.",
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
    breaks: "A lost answer ends the generation with a refund although the job may deliver.",
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
    breaks: "The first route's price is charged, whichever route delivered.",
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
    breaks: "What is charged is the route's price in the catalogue of the day of delivery, not the one that was quoted.",
    standsFor: "priced at the settlement",
    patches: [
      {
        file: "src/app/core.ts",
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
    breaks: "A late result of a lost attempt is charged at the price of the attempt in hand.",
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
    breaks: "A route is begun after the waiting time is over.",
    standsFor: "max_wait_s passes while queued or between routes",
    patches: [
      {
        file: RULES,
        find: "context.nextRoute < context.plan.length && event.atMs < context.waitEndsAtMs &&",
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
    breaks: "The time of a route begins anew with each sending.",
    standsFor: "the cap counts from the first sending",
    patches: [
      { file: ACTIONS, find: "context.current.endsAtMs ?? event.atMs + route.timeoutMs", put: "event.atMs + route.timeoutMs" },
    ],
    killer: "machine",
  },
  {
    name: "cap-ignored",
    breaks: "A job that never ends is polled for ever.",
    standsFor: "40 minutes",
    patches: [
      {
        file: CHART,
        find: '            jobFailed: failOrToNextRoute("closeFailed"),\n            attemptTimeEnded: toNextRoute("closeCapped"),',
        put: '            jobFailed: failOrToNextRoute("closeFailed"),',
      },
    ],
    killer: "simulation",
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
    breaks: "Every restart gives an attempt its whole time again.",
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
    breaks: "After a full disk the generation goes on from what was not written.",
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
    breaks: "A deadline counts although what came in before it has moved it on.",
    standsFor: "deadlines are durable",
    patches: [{ file: HOST, find: "    if (isStaleDeadline(before, event)) return;\n", put: "" }],
    killer: "machine",
  },
  {
    name: "watch-forgotten",
    breaks: "After a restart nobody asks any more about an attempt that was given up and may still deliver.",
    standsFor: "late success of route A",
    patches: [
      { file: SNAPSHOT, find: "return effect ? [effect, ...later] : later;", put: "return effect ? [effect] : later.slice(1);" },
    ],
    killer: "machine",
  },
  {
    name: "restored-never-asked",
    breaks: "What was restored waits for answers to questions that nobody asks: a start opens, and nothing more happens to it.",
    standsFor: "a deploy in the middle; what runs for a machine is not part of its snapshot",
    patches: [{ file: RESUMING, find: "deps.perform(seq, effect);", put: "void seq;" }],
    killer: "resuming",
  },
  {
    name: "resend-on-recovery",
    breaks: "A request that may have been out when the process ended is sent again at the next start.",
    standsFor: "an effect in flight runs again on restore",
    patches: [
      { file: RESTORE, find: ' && effect.type !== "effect.send"),', put: ")," },
      { file: RESTORE, find: "return wasSending ? {", put: "return wasSending && n < 0 ? {" },
    ],
    killer: "simulation",
  },
  {
    name: "resend-after-lost-answer",
    breaks: "A submission whose answer was lost is sent again without asking first.",
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
