// Mutants of several nodes over one store: fencing, takeover and the trust window of a lease.
import type { Mutant } from "./mutant.ts";

/** The rules of the PostgreSQL driver in the simulated store; the crash program tests those of the driver itself. */
const DATABASE = "src/torture/simulation/shared-database.ts";
const MEMBERSHIP = "src/cluster/membership.ts";
const RECORDS = "src/generations/record-cache.ts";
const SHARING = "src/cluster/takeover.ts";
const SUBMITTING = "src/effects/submit.ts";
const LEASE_KEEPER = "src/cluster/lease-keeper.ts";

export const NODE_MUTANTS: readonly Mutant[] = [
  {
    name: "no-epoch-check",
    breaks: "A fenced node continues to write, because no transaction checks its lease.",
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
    breaks: "A takeover continues a generation of a dead node without writing the new owner.",
    standsFor: "a dead node's generations are claimed",
    patches: [{ file: DATABASE, find: "      database.query(CLAIM).run(seq, epoch);\n", put: "" }],
    killer: "nodes",
  },
  {
    name: "take-over-sends-again",
    breaks: "After a takeover the new node sends an in-flight request again without confirmation.",
    standsFor: "a takeover uses the recovery path and never runs an effect again",
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
    breaks: "A node sends a request after a pause without checking its lease.",
    standsFor: "a zombie must not purchase a job that another node has taken over",
    patches: [{ file: SUBMITTING, find: "      await deps.sure?.();\n", put: "" }],
    killer: "nodes",
    seed: 25,
  },
  {
    name: "trusts-five-leases",
    breaks: "A node trusts its lease for longer than the store considers it alive.",
    standsFor: "local trust window, as River has it",
    patches: [{ file: LEASE_KEEPER, find: "node.leaseMs * (1 - MARGIN_PART);", put: "node.leaseMs * (5 + MARGIN_PART);" }],
    killer: "nodes",
    seed: 25,
  },
  {
    name: "no-takeover",
    breaks: "Generations of a dead node are taken over only when no other node is alive.",
    standsFor: "every generation of a dead node is continued",
    patches: [
      {
        file: LEASE_KEEPER,
        find: "if (clusterState.isAnythingLeft) takeOver()",
        put: "if (clusterState.isAnythingLeft && clusterState.alive === 1) takeOver()",
      },
    ],
    killer: "nodes",
  },
  {
    name: "remembers-unsure",
    breaks: "A node that was paused past its lease answers polls from its cache.",
    standsFor: "found by worlds of several nodes: a status that moves backward",
    patches: [{ file: RECORDS, find: "seq === undefined || !isSure()", put: "seq === undefined" }],
    killer: "nodes",
    seed: 77,
  },
  {
    name: "one-slot-for-all",
    breaks: "Every node uses the same range of generation numbers.",
    standsFor: "new ids are unique over all nodes",
    patches: [{ file: MEMBERSHIP, find: "node?.slot ?? null", put: "node === null ? null : 0" }],
    killer: "nodes",
    seed: 24,
  },
];
