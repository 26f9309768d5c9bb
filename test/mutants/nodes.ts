// Mutants of several nodes over one store: who may write, what a take-over does, and how long a node may trust what it knows.
import type { Mutant } from "./mutant.ts";

/** The rules of the PostgreSQL driver as the simulated store mirrors them; the driver's own are controlled by the crash program. */
const DATABASE = "src/torture/simulation/shared-database.ts";
const MEMBERSHIP = "src/cluster/membership.ts";
const RECORDS = "src/generations/record-cache.ts";
const SHARING = "src/cluster/takeover.ts";
const SUBMITTING = "src/effects/submit.ts";
const LEASE_KEEPER = "src/cluster/lease-keeper.ts";

export const NODE_MUTANTS: readonly Mutant[] = [
  {
    name: "no-epoch-check",
    breaks: "A node that was ended writes on: no transaction says that its owner still is one.",
    standsFor: "a zombie loses by row count 0 and must stop",
    patches: [
      { file: DATABASE, find: "if (owner.endedAtMs !== null || owner.batch !== batch - 1) throw fenced();", put: "" },
      {
        file: DATABASE,
        find: 'mutation.mutation !== "step" || isOwn(epoch, mutation.seq);',
        put: 'mutation.mutation !== "step" || epoch > 0;',
      },
    ],
    killer: "nodes",
  },
  {
    name: "take-over-without-claim",
    breaks: "Whoever finds a generation of a dead node goes on with it, and does not write down that it is its own now.",
    standsFor: "a dead node's generations are claimed",
    patches: [{ file: DATABASE, find: "      database.query(CLAIM).run(seq, epoch);\n", put: "" }],
    killer: "nodes",
  },
  {
    name: "take-over-sends-again",
    breaks: "What a dead node was about to send is sent by whoever takes over, without asking first.",
    standsFor: "take-over goes to the recovery path, never to run again",
    patches: [
      {
        file: SHARING,
        find: "    supervisor.resume();\n",
        put: `    supervisor.resume();
    for (const { seq } of found)
      for (const { n, state } of await store.attemptsOf(seq)) if (state === "sending") effects.perform(seq, { type: "effect.send", n });
`,
      },
    ],
    killer: "nodes",
  },
  {
    name: "sends-unsure",
    breaks: "A node that stood still sends what it was about to send, without a look at its lease.",
    standsFor: "a zombie must not buy what another has taken over",
    patches: [{ file: SUBMITTING, find: "      await deps.sure?.();\n", put: "" }],
    killer: "nodes",
    seed: 25,
  },
  {
    name: "trusts-five-leases",
    breaks: "A node trusts its lease for longer than the store takes it for alive.",
    standsFor: "local trust window, as River has it",
    patches: [{ file: LEASE_KEEPER, find: "node.leaseMs * (1 - MARGIN_PART);", put: "node.leaseMs * (5 + MARGIN_PART);" }],
    killer: "nodes",
    seed: 25,
  },
  {
    name: "nobody-takes-over",
    breaks: "What a dead node left waits until no other node is alive.",
    standsFor: "every generation of a dead node is gone on with",
    patches: [
      {
        file: LEASE_KEEPER,
        find: "if (around.isAnythingLeft) takeOver()",
        put: "if (around.isAnythingLeft && around.alive === 1) takeOver()",
      },
    ],
    killer: "nodes",
  },
  {
    name: "remembers-unsure",
    breaks: "A node that stood still past its lease answers polls with what it remembers.",
    standsFor: "found by worlds of several nodes: a status that goes back",
    patches: [{ file: RECORDS, find: "seq === undefined || !isSure()", put: "seq === undefined" }],
    killer: "nodes",
    seed: 168,
  },
  {
    name: "one-slot-for-all",
    breaks: "Every node numbers generations with the same share of the numbers.",
    standsFor: "new ids are unique over all nodes",
    patches: [{ file: MEMBERSHIP, find: "createSequence(slot);", put: "createSequence(slot * 0);" }],
    killer: "nodes",
    seed: 24,
  },
];
