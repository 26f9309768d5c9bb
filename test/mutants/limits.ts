// Bugs in what keys may spend: each must be found by the ledger's property, which knows limits.
import type { Mutant } from "./mutant.ts";

const LIMITS = "src/store/sqlite/limits.ts";
const RACE = "two submissions for the last of a limit: one wins";

export const LIMIT_MUTANTS: readonly Mutant[] = [
  {
    name: "limit-not-counted",
    breaks: "What an accepted submission holds is not counted against its key's limit.",
    standsFor: RACE,
    patches: [
      {
        file: "src/store/sqlite/admit.ts",
        find: "    limits.admitted(deed.keySeq, deed.createdAtMs, deed.reservedCredits);\n",
        put: "",
      },
    ],
    killer: "ledger",
  },
  {
    name: "limit-not-given-back",
    breaks: "What a generation reserved and did not cost stays counted against its key's limit.",
    standsFor: "a failed generation costs nothing",
    patches: [
      {
        file: "src/store/sqlite/step.ts",
        find: "      limits.settled(seq, record.createdAtMs, record.reservedCredits - (record.costCredits ?? 0));\n",
        put: "",
      },
    ],
    killer: "ledger",
  },
  {
    name: "limit-never-whole",
    breaks: "The last credit of a limit cannot be spent.",
    standsFor: RACE,
    patches: [{ file: LIMITS, find: "if (leftCredits < reservedCredits)", put: "if (leftCredits <= reservedCredits)" }],
    killer: "ledger",
  },
  {
    name: "limit-known-too-long",
    breaks: "A limit that was set or changed is not held to before the next start.",
    standsFor: "what the writer remembers of keys is read anew when one changes",
    patches: [{ file: "src/store/sqlite/keys.ts", find: "    limits.forget();\n", put: "" }],
    killer: "ledger",
  },
  {
    name: "limit-of-a-rollback",
    breaks: "A limit that was set and rolled back again is held to.",
    standsFor: "memory is never ahead of the disk",
    patches: [{ file: "src/store/sqlite/batch.ts", find: "    limits.forget();\n", put: "" }],
    killer: "ledger",
  },
  {
    name: "limit-from-now-on",
    breaks: "A limit that is set on a key does not count what the key has spent before.",
    standsFor: "hold-aware limits, also of keys in use",
    patches: [
      {
        file: "src/store/sqlite/keys.ts",
        find: "    if (!isNew) sumUp.run(meterSeq, leastSeqAt(fromDay * DAY_MS), fromDay * DAY_MS);\n",
        put: "",
      },
    ],
    killer: "ledger",
  },
];
