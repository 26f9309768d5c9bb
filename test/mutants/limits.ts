// Bugs in what keys may spend: each must be found by the ledger's property, which knows limits, or by that of the limits.
import type { Mutant } from "./mutant.ts";

const RACE = "two submissions for the last of a limit: one wins";

export const LIMIT_MUTANTS: readonly Mutant[] = [
  {
    name: "limit-not-counted",
    breaks: "What an accepted submission holds is not counted against its key's limit.",
    standsFor: RACE,
    patches: [
      {
        file: "src/store/sqlite/admit-generation.ts",
        find: "    limits.admitted(mutation.keySeq, mutation.createdAtMs, mutation.reservedCredits);\n",
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
        file: "src/store/sqlite/apply-transition.ts",
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
    patches: [
      {
        file: "src/store/sql/key-policy.ts",
        find: "if (leftCredits < reservedCredits)",
        put: "if (leftCredits <= reservedCredits)",
      },
    ],
    killer: "ledger",
  },
  {
    name: "limit-known-too-long",
    breaks: "A limit that was set or changed is not held to before the next start.",
    standsFor: "what the writer remembers of keys is read anew when one changes",
    patches: [{ file: "src/store/sql/keys.ts", find: "    keysChanged();\n", put: "" }],
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
        file: "src/store/sql/keys.ts",
        find: "    if (!isNew) yield* change(sumUp, meterSeq, fromDay, fromMs, leastSeqAt(fromMs));\n",
        put: "",
      },
    ],
    killer: "ledger",
  },
  {
    name: "limit-by-the-day-of-the-end",
    breaks: "A limit that is set late counts what was spent before by the day on which it ended.",
    standsFor: "what is submitted in a window is spent in it, whenever it ends",
    patches: [
      {
        file: "src/store/sql/usage.ts",
        find: "      const day = dayOf(one.createdAtMs);\n",
        put: "      const day = dayOf(one.completedAtMs);\n",
      },
    ],
    killer: "limits",
  },
  {
    name: "limit-of-what-was-added-up",
    breaks: "A limit that is set late does not count what ended since usage was last added up.",
    standsFor: "the sums of days are behind the ledger, limits are not",
    patches: [{ file: "src/store/sql/keys.ts", find: "p.kind = 'capture' AND", put: "p.kind = 'none' AND" }],
    killer: "limits",
  },
  {
    name: "limit-counted-twice",
    breaks: "A limit that is set late counts twice what ended before usage was last added up.",
    standsFor: "the sums of days and the transfers after them meet without an overlap",
    patches: [
      {
        file: "src/store/sqlite/shared-mutations.ts",
        find: "notAddedUp: `p.seq > coalesce(",
        put: "notAddedUp: `p.seq > 0 * coalesce(",
      },
    ],
    killer: "limits",
  },
  {
    name: "limit-without-what-is-held",
    breaks: "A limit that is set late does not count what the key holds.",
    standsFor: "hold-aware limits, also of keys in use",
    patches: [
      {
        file: "src/store/sql/keys.ts",
        find: "WHERE completed_at_ms IS NULL AND",
        put: "WHERE completed_at_ms IS NULL AND 0 AND",
      },
    ],
    killer: "limits",
  },
  {
    name: "limit-of-weeks-from-sunday",
    breaks: "A week of a limit begins on a Sunday.",
    standsFor: "windows are days, weeks from Monday and months of UTC",
    patches: [{ file: "src/domain/calendar.ts", find: "day - ((day + 3) % 7)", put: "day - ((day + 4) % 7)" }],
    killer: "limits",
  },
];
