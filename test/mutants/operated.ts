// Mutants of what operators decide, and of answers that are in hand while a node cannot reach its store.
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
    breaks: "A decision is said to be carried out when something else has happened to the generation.",
    standsFor: "simulate, seed 187: a retry that was overtaken by the end was answered as taken",
    patches: [{ file: ADMIN, find: "journal.some(({ event }) => isCarriedOut(decision, event))", put: "journal.length > 1" }],
    killer: "simulation",
    seed: 80,
  },
  {
    name: "decided-after-the-end",
    breaks: "A generation that has ended is decided about all the same.",
    standsFor: "a decision that races with the end: nothing may change after it",
    patches: [
      { file: ADMIN, find: "if (record.completedAtMs !== null) throw", put: "if (record.completedAtMs === -1) throw" },
      { file: "src/store/sql/admin-mutations.ts", find: "if (found?.at !== null) throw", put: "if (found?.at === -1) throw" },
    ],
    killer: "simulation",
  },
  {
    name: "decided-twice",
    breaks: "What was left for the owner of a generation is told to its machine at every look.",
    standsFor: "a decision that is taken, and the process ends before it is dropped",
    patches: [
      { file: SHARING, find: "as ForOwner)) await node.dropHint(hint);", put: "as ForOwner)) return;" },
      {
        file: SHARING,
        find: "if (isDecision(forwarded) && (await store.journalOf",
        put: "if (!isDecision(forwarded) && (await store.journalOf",
      },
    ],
    killer: "nodes",
    seed: 70,
  },
  {
    name: "failed-with-its-hold",
    breaks: "A generation that an operator fails keeps its hold.",
    standsFor: "failed by an operator: the whole hold goes back",
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
    breaks: "What may be out when an operator fails a generation is not watched: what it delivers is on no list.",
    standsFor: "failed by an operator: what its provider delivers is an orphan",
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
    standsFor: "a parked generation kept its hold for ever",
    patches: [
      {
        file: CHART,
        find: 'failedByOperator: { target: "failed", actions: ["endByOperator"] },\n      },\n      states: {\n        awaitingSeat',
        put: "},\n      states: {\n        awaitingSeat",
      },
    ],
    killer: "simulation",
    seed: 30,
  },
  {
    name: "answer-not-spooled",
    breaks: "An answer that the store does not take is kept in memory alone: it is gone with the process.",
    standsFor: "answers in hand are thrown away when the database is away",
    patches: [{ file: IN_HAND, find: "      await spool.keep(entry.spooled);\n", put: "" }],
    killer: "nodes",
  },
  {
    name: "answer-lost-with-the-store",
    breaks: "An answer in hand is given up when the store cannot be asked whose its job is.",
    standsFor: "13 of 265 generations failed, their jobs paid for nothing",
    patches: [
      {
        file: SUBMITTING,
        find: "if (!(fault instanceof DatabaseUnavailable)) throw fault;",
        put: "if (fault instanceof Error) throw fault;",
      },
    ],
    killer: "nodes",
    seed: 75,
  },
  {
    name: "answer-not-passed-on",
    breaks: "An answer on a node's disk is not told to the node that goes on with its generation.",
    standsFor: "a node that comes back when another has taken over what it owned",
    patches: [
      {
        file: RECOVERY,
        find: "if (!hasEnded && !supervisor.has(seq)) void passOn(seq, outcome);",
        put: "if (!hasEnded && !supervisor.has(seq)) continue;",
      },
    ],
    killer: "nodes",
  },
  {
    name: "asked-without-bound",
    breaks: "A provider that answers no question is asked until its route's time is over, not for confirm_s.",
    standsFor: "ten minutes of 5xx hold up every generation",
    patches: [{ file: FINDING, find: "else if (atMs - receivedAtMs >= boundMs) break;", put: "void receivedAtMs, boundMs;" }],
    killer: "simulation",
    seed: 78,
  },
];
