// Mutants of operators' decisions, and of received responses while a node cannot reach its store.
import type { Mutant } from "./mutant.ts";

const CHART = "actors/generation/machine.ts";
const ACTIONS = "actors/generation/actions.ts";
const ADMIN = "src/admin/generations.ts";
const SHARING = "src/cluster/takeover.ts";
const IN_HAND = "src/effects/pending-outcomes.ts";
const SUBMITTING = "src/effects/submit.ts";
const FINDING = "src/effects/job-lookup.ts";
const RECOVERY = "src/app/recovery.ts";

export const OPERATED_MUTANTS: readonly Mutant[] = [
  {
    name: "any-step-is-the-decision",
    breaks: "The service confirms a decision although another event has happened to the generation.",
    standsFor: "simulate, seed 187: a retry was confirmed although the end came first",
    patches: [{ file: ADMIN, find: "events.some(({ event }) => isCarriedOut(decision, event))", put: "events.length > 1" }],
    killer: "simulation",
    seed: 125,
  },
  {
    name: "decided-after-the-end",
    breaks: "A decision about a generation that has ended is carried out.",
    standsFor: "a decision that races with the end: nothing may change after it",
    patches: [
      { file: ADMIN, find: "if (record.completedAtMs !== null) throw", put: "if (record.completedAtMs === -1) throw" },
      { file: "src/store/sql/admin-mutations.ts", find: "if (found?.at !== null) throw", put: "if (found?.at === -1) throw" },
    ],
    killer: "simulation",
    seed: 379,
  },
  {
    name: "decided-twice",
    breaks: "A stored decision is sent to the generation's machine repeatedly.",
    standsFor: "a decision that is carried out before the process ends, but not removed",
    patches: [
      { file: SHARING, find: "as ForOwner)) await node.dropHint(hint);", put: "as ForOwner)) return;" },
      {
        file: SHARING,
        find: "return (await store.eventsOf(seq)).some(({ event }) => isCarriedOut(forwarded, event));",
        put: "return false;",
      },
    ],
    killer: "nodes",
    seed: 70,
  },
  {
    name: "failed-with-its-hold",
    breaks: "A generation that an operator fails keeps its hold.",
    standsFor: "failed by an operator: the whole hold is released",
    patches: [
      {
        file: ACTIONS,
        find: 'enqueue.emit({ type: "note.release", error: { code: "provider_failed", message: ENDED_BY_OPERATOR_MESSAGE } });',
        put: "void ENDED_BY_OPERATOR_MESSAGE;",
      },
    ],
    killer: "simulation",
    seed: 30,
  },
  {
    name: "failed-and-forgotten",
    breaks: "An attempt that is in flight when an operator fails its generation is not watched, so its result is no orphan.",
    standsFor: "failed by an operator: a later result is an orphan",
    patches: [
      {
        file: ACTIONS,
        find: 'noteAttempt(emit, { n, state: "lost", endedAtMs: atMs, watchUntilMs: (current.sentAtMs ?? atMs) + current.watchMs });',
        put: 'noteAttempt(emit, { n, state: "cancelled", endedAtMs: atMs });',
      },
    ],
    killer: "simulation",
  },
  {
    name: "parked-for-ever",
    breaks: "A parked generation cannot be settled, failed or retried.",
    standsFor: "a parked generation never released its hold",
    patches: [
      {
        file: CHART,
        find: 'parked: { target: ".parked", actions: ["letGoCurrent"] },\n        failedByOperator: { target: "failed", actions: ["endByOperator"] },',
        put: 'parked: { target: ".parked", actions: ["letGoCurrent"] },',
      },
    ],
    killer: "simulation",
    seed: 119,
  },
  {
    name: "answer-not-spooled",
    breaks: "A response that the store cannot accept is kept only in memory and lost with the process.",
    standsFor: "received responses are discarded while the database is unavailable",
    patches: [{ file: IN_HAND, find: "      await spool.keep(entry.spooled);\n", put: "" }],
    killer: "nodes",
  },
  {
    name: "answer-lost-with-the-store",
    breaks: "A received response is discarded if the store cannot return the owner of its job.",
    standsFor: "13 of 265 generations failed although their jobs were paid for",
    patches: [
      {
        file: SUBMITTING,
        find: "if (!(fault instanceof DatabaseUnavailable)) throw fault;",
        put: "if (fault instanceof Error) throw fault;",
      },
      {
        file: SUBMITTING,
        find: 'lose("the sending broke off");',
        put: 'deps.inHand?.drop(seq, n); lose("the sending broke off");',
      },
    ],
    killer: "nodes",
    seed: 73,
  },
  {
    name: "answer-not-passed-on",
    breaks: "A spooled response is not passed to the node that took over its generation.",
    standsFor: "a node that returns after another has taken over its generations",
    patches: [
      {
        file: RECOVERY,
        find: "if (!hasEnded && !supervisor.has(seq)) void passOn(one);",
        put: "if (!hasEnded && !supervisor.has(seq)) continue;",
      },
    ],
    killer: "nodes",
    seed: 149,
  },
  {
    name: "asked-without-bound",
    breaks: "The service confirms with a silent provider until the route's time is over, not for confirm_s.",
    standsFor: "ten minutes of 5xx delay every generation",
    patches: [{ file: FINDING, find: "else if (atMs - receivedAtMs >= boundMs) break;", put: "void receivedAtMs, boundMs;" }],
    killer: "simulation",
    seed: 78,
  },
];
