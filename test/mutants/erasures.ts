// Mutants of erasures: erased text that is still readable.
import type { Mutant } from "./mutant.ts";

const ERASURE = "src/store/sql/erasure.ts";

export const ERASURE_MUTANTS: readonly Mutant[] = [
  {
    name: "erased-and-written-back",
    breaks: "A late result writes its addresses and texts into the row of an erased generation.",
    standsFor: "after the erasure no text of the generation is written",
    patches: [
      {
        file: "src/store/sql/admin-mutations.ts",
        find: "const kept = generation.erasedAt === null ? mutation.change : erasedChange(mutation.change);",
        put: "const kept = mutation.change;",
      },
    ],
    killer: "simulation",
  },
  {
    name: "erased-and-still-requested",
    breaks: "The requests that were sent to providers are not overwritten.",
    standsFor: "an erasure reaches every copy of the prompt",
    patches: [{ file: ERASURE, find: "    yield* change(ERASE_ATTEMPT_REQUESTS, seq);\n", put: "" }],
    killer: "simulation",
  },
  {
    name: "erased-and-still-stored",
    breaks: "The request of the generation is not overwritten.",
    standsFor: "an erasure reaches every copy of the prompt",
    patches: [{ file: ERASURE, find: "    yield* change(ERASE_REQUEST, seq);\n", put: "" }],
    killer: "simulation",
  },
  {
    name: "erased-and-still-cached",
    breaks: "A poll after the deletion returns the record in memory.",
    standsFor: "an erased generation is not shown as it was",
    patches: [
      {
        file: "src/generations/post-commit.ts",
        find: "      records.drop(mutation.seq);\n      attempts.forgetAll",
        put: "      attempts.forgetAll",
      },
    ],
    killer: "simulation",
  },
  {
    name: "erased-at-another-node",
    breaks: "A node returns a record from its memory that another node has erased.",
    standsFor: "no node serves what another node has erased",
    patches: [
      {
        file: "src/generations/record-cache.ts",
        find: "if (isAlone || record.completedAtMs === null) bySeq.set",
        put: "if (isAlone || record.seq > 0) bySeq.set",
      },
    ],
    killer: "nodes",
  },
];
