// Mutants of key limits: the ledger's property or the limits' property must find each.
import type { Mutant } from "./mutant.ts";

const RACE = "of two submissions for the last credits of a limit one is accepted";

export const LIMIT_MUTANTS: readonly Mutant[] = [
  {
    name: "limit-not-counted",
    breaks: "The hold of an accepted submission does not count against its key's limit.",
    standsFor: RACE,
    patches: [
      {
        file: "src/store/decide/admission.ts",
        find: "spend: spendOf(bound?.meter, createdAtMs, reservedCredits)",
        put: "spend: null",
      },
    ],
    killer: "ledger",
  },
  {
    name: "limit-not-given-back",
    breaks: "The released part of a hold still counts against the key's limit.",
    standsFor: "a failed generation costs nothing",
    patches: [
      {
        file: "src/store/decide/transition.ts",
        find: "spend: settlement ? returnedSpend(record, rows) : null",
        put: "spend: null",
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
    breaks: "A new or changed limit takes effect only after the next start.",
    standsFor: "the writer reloads its cached keys when one changes",
    patches: [{ file: "src/store/sql/keys.ts", find: "    keysChanged();\n", put: "" }],
    killer: "ledger",
  },
  {
    name: "limit-of-a-rollback",
    breaks: "A limit that was rolled back stays in effect.",
    standsFor: "memory is never ahead of the disk",
    patches: [{ file: "src/store/sqlite/batch.ts", find: "    limits.forget();\n", put: "" }],
    killer: "ledger",
  },
  {
    name: "limit-from-now-on",
    breaks: "A new limit does not count the key's earlier spend.",
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
    breaks: "A new limit counts earlier spend by the day of the end instead of the submission.",
    standsFor: "spend belongs to the window of the submission, not of the end",
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
    breaks: "A new limit does not count generations that ended after the last usage aggregation.",
    standsFor: "daily sums lag behind the ledger, but limits do not",
    patches: [{ file: "src/store/sql/keys.ts", find: "p.kind = 'capture' AND", put: "p.kind = 'none' AND" }],
    killer: "limits",
  },
  {
    name: "limit-counted-twice",
    breaks: "A new limit counts generations that ended before the last usage aggregation twice.",
    standsFor: "daily sums and later transfers do not overlap",
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
    breaks: "A new limit does not count the key's current holds.",
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
    name: "end-user-not-counted",
    breaks: "The hold of an accepted submission does not count against the limit of its end user.",
    standsFor: RACE,
    patches: [
      {
        file: "src/store/sqlite/admit-generation.ts",
        find: "    if (writes.endUserHold && endUserSeq !== null) endUsers.hold(endUserSeq, writes.endUserHold);\n",
        put: "",
      },
    ],
    killer: "ledger",
  },
  {
    name: "end-user-not-given-back",
    breaks: "The released part of a hold still counts against the limit of the end user.",
    standsFor: "a failed generation costs nothing",
    patches: [
      {
        file: "src/store/sqlite/end-users.ts",
        find: "      takeBack.run(endUserSeq, submittedDay, releasedCredits, heldCredits);\n",
        put: "",
      },
    ],
    killer: "ledger",
  },
  {
    name: "end-user-never-whole",
    breaks: "The last credit of the limit of an end user cannot be spent.",
    standsFor: RACE,
    patches: [
      {
        file: "src/store/sql/end-users.ts",
        find: "if (leftCredits >= reservedCredits)",
        put: "if (leftCredits > reservedCredits)",
      },
    ],
    killer: "ledger",
  },
  {
    name: "end-user-known-too-long",
    breaks: "A changed limit of an end user takes effect only after the next start.",
    standsFor: "the writer reloads its cached end users when a limit changes",
    patches: [{ file: "src/store/sql/end-users.ts", find: "      changed();\n      const term", put: "      const term" }],
    killer: "ledger",
  },
  {
    name: "end-user-of-a-rollback",
    breaks: "An end user or a limit that was rolled back stays in memory.",
    standsFor: "memory is never ahead of the disk",
    patches: [{ file: "src/store/sqlite/batch.ts", find: "    endUsers.forget();\n", put: "" }],
    killer: "ledger",
  },
  {
    name: "limit-of-weeks-from-sunday",
    breaks: "A week of a limit begins on a Sunday.",
    standsFor: "windows are days, weeks from Monday and months of UTC",
    patches: [{ file: "src/domain/calendar.ts", find: "day - ((day + 3) % 7)", put: "day - ((day + 4) % 7)" }],
    killer: "limits",
  },
];
