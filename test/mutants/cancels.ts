// Mutants of cancellations.
import type { Mutant } from "./mutant.ts";

const ACTIONS = "actors/generation/actions.ts";
const GUARDS = "actors/generation/guards.ts";
const SNAPSHOT = "actors/generation/snapshot.ts";
const CANCEL = "src/generations/cancel.ts";

export const CANCEL_MUTANTS: readonly Mutant[] = [
  {
    name: "cancelled-with-its-hold",
    breaks: "A cancelled generation keeps its hold.",
    standsFor: "a cancellation releases the whole hold",
    patches: [
      {
        file: ACTIONS,
        find: 'enqueue.emit({ type: "note.release", error: { code: ended, message } });',
        put: 'if (ended !== "cancelled") enqueue.emit({ type: "note.release", error: { code: ended, message } });',
      },
    ],
    killer: "simulation",
  },
  {
    name: "cancelled-and-tried-elsewhere",
    breaks: "The next route is tried after a cancel request.",
    standsFor: "from the cancel request on, no attempt begins",
    patches: [{ file: GUARDS, find: "!isCancelRequested({ context }) &&\n  context.nextRoute", put: "context.nextRoute" }],
    killer: "simulation",
  },
  {
    name: "cancelled-and-sent-again",
    breaks: "An attempt that its provider rejected for its rate is sent again after a cancel request.",
    standsFor: "from the cancel request on, nothing is sent",
    patches: [{ file: GUARDS, find: "!isCancelRequested(args) && backOffUntilMs", put: "backOffUntilMs" }],
    killer: "machine",
  },
  {
    name: "cancel-forgotten",
    breaks: "A restart forgets the cancel request.",
    standsFor: "a cancel request survives every crash after its response",
    patches: [
      {
        file: SNAPSHOT,
        find: "const { plan: _, ...memory } = snapshot.context;",
        put: "const { plan: _, cancelRequestedAtMs: __, ...memory } = snapshot.context;",
      },
    ],
    killer: "simulation",
    seed: 95,
  },
  {
    name: "cancel-acknowledged-early",
    breaks: "A cancel request is acknowledged before it is on disk.",
    standsFor: "a response before its commit",
    patches: [
      {
        file: CANCEL,
        find: "    for (let waitedMs = 0; waitedMs < APPLIED_WITHIN_MS; waitedMs += POLL_MS) {",
        put: "    if (seq > 0) return { record, requestedAtMs: decidedAtMs };\n    for (let waitedMs = 0; waitedMs < APPLIED_WITHIN_MS; waitedMs += POLL_MS) {",
      },
    ],
    killer: "simulation",
    seed: 152,
  },
];
