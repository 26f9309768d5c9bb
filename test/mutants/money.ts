// Mutants of the ledger: holds, charges, releases, and the handling of failed commits.
import type { Mutant } from "./mutant.ts";

const STEP = "src/store/sqlite/apply-transition.ts";
const ADMISSION = "src/store/decide/admission.ts";
const TRANSITION = "src/store/decide/transition.ts";
const BATCH = "src/store/sqlite/batch.ts";
const MONEY = "src/store/sqlite/ledger.ts";
const CREDIT = "src/store/sql/balance-adjustments.ts";
const SUBMIT = "src/generations/submit.ts";

export const MONEY_MUTANTS: readonly Mutant[] = [
  {
    name: "split-settle",
    breaks: "Settlement and status are two commits: a crash between them leaves one without the other.",
    standsFor: "new-api: status and refund in two transactions",
    patches: [
      {
        file: STEP,
        find: "    if (mutation.settlement) end(record",
        put: '    db.run("COMMIT");\n    db.run("BEGIN IMMEDIATE");\n    if (mutation.settlement) end(record',
      },
    ],
    killer: "ledger",
  },
  {
    name: "double-capture",
    breaks: "A settlement captures twice from the hold.",
    standsFor: "captured twice",
    patches: [
      {
        file: TRANSITION,
        find: "  const restCredits = reservedCredits",
        put: "  for (const captured of [...moves]) moves.push({ ...captured, progress: 0 });\n  const restCredits = reservedCredits",
      },
    ],
    killer: "ledger",
  },
  {
    name: "release-also",
    breaks: "The whole hold is released although a part was captured.",
    standsFor: "refunded and charged: invariant 3",
    patches: [{ file: TRANSITION, find: "reservedCredits - captured;", put: "reservedCredits;" }],
    killer: "ledger",
  },
  {
    name: "rest-kept",
    breaks: "The rest of a hold after the capture is never released.",
    standsFor: "new-api: ended with a live hold",
    patches: [{ file: TRANSITION, find: "if (restCredits !== 0)", put: 'if (settlement.kind !== "capture")' }],
    killer: "ledger",
  },
  {
    name: "terminal-overwritten",
    breaks: "A generation that has ended accepts further transitions.",
    standsFor: "terminal is terminal",
    patches: [
      {
        file: TRANSITION,
        find: "generation.record.completedAtMs !== null || generation.version !== firstVersionOf(mutation) - 1)",
        put: "(generation.record.completedAtMs === null && generation.version !== firstVersionOf(mutation) - 1))",
      },
    ],
    killer: "ledger",
  },
  {
    name: "no-version",
    breaks: "A transition is written from any version, so two writers overwrite each other.",
    standsFor: "no compare-and-set",
    patches: [{ file: TRANSITION, find: " || generation.version !== firstVersionOf(mutation) - 1)", put: ")" }],
    killer: "ledger",
  },
  {
    name: "stale-step",
    breaks: "The cached state of a generation is used after it was rolled back.",
    standsFor: "one event, one transaction",
    patches: [{ file: STEP, find: "    forget: (): void => known.clear(),", put: "    forget: (): void => undefined," }],
    killer: "ledger",
  },
  {
    name: "stale-balance",
    breaks: "The cached balance is used after it was rolled back.",
    standsFor: "new-api issue 6609: quota overdraft by a race",
    patches: [{ file: MONEY, find: "      heads.clear();\n", put: "" }],
    killer: "ledger",
  },
  {
    name: "balance-not-asked",
    breaks: "Admission does not check the balance, so only the row's constraint rejects the hold.",
    standsFor: "402 is an API error, not a defect",
    patches: [{ file: ADMISSION, find: "return availableCredits < reservedCredits ?", put: "return availableCredits < 0 ?" }],
    killer: "ledger",
  },
  {
    name: "replay-after-balance",
    breaks: "A replay of an idempotency key returns 402 after the balance is used up.",
    standsFor: "replay at balance 0 is still 200",
    patches: [
      {
        file: ADMISSION,
        find: "  if (known) return",
        put: "  if (known && head.availableCredits >= reservedCredits) return",
      },
    ],
    killer: "ledger",
  },
  {
    name: "body-not-compared",
    breaks: "An idempotency key returns its generation for any body.",
    standsFor: "same key, different body",
    patches: [{ file: ADMISSION, find: "isSameRequest(request, body) ?", put: "request.body !== null ?" }],
    killer: "ledger",
  },
  {
    name: "limit-outside",
    breaks: "Admission counts generations in progress outside the transaction, so concurrent submissions miss each other.",
    standsFor: "the concurrency limit's race",
    patches: [
      { file: SUBMIT, find: "const answer = (outcome", put: "let inside = 0;\nconst answer = (outcome" },
      { file: SUBMIT, find: "      const outcome = await", put: "      inside += 1;\n      const outcome = await" },
      {
        file: SUBMIT,
        find: "inProgressLimit: order.caller.inProgressLimit ?? deps.limits.inProgress,",
        put: "inProgressLimit: (order.caller.inProgressLimit ?? deps.limits.inProgress) + inside - 1,",
      },
      { file: SUBMIT, find: "      return answer(outcome, plan", put: "      inside -= 1;\n      return answer(outcome, plan" },
    ],
    killer: "last-credit",
  },
  {
    name: "refusal-binds-key",
    breaks: "A rejection binds its idempotency key: after a top-up the same request is rejected again.",
    standsFor: "Stripe stores responses; our idempotency keys bind generations only",
    patches: [
      {
        file: SUBMIT,
        find: "const answer = (outcome",
        put: "const bound = new Map<string, AdmitResult>();\nconst answer = (outcome",
      },
      {
        file: SUBMIT,
        find: "      return answer(outcome, planned.reservedCredits);",
        put: `    const key = \`\${order.caller.accountSeq} \${order.idempotencyKey}\`;
    if (order.idempotencyKey !== null && !bound.has(key)) bound.set(key, outcome);
    const first = bound.get(key);
    return answer(first?.kind === "insufficient_credits" ? first : outcome, planned.reservedCredits);`,
      },
    ],
    killer: "last-credit",
  },
  {
    name: "answer-before-commit",
    breaks: "A submission is accepted before it is on disk.",
    standsFor: "acknowledged before the commit",
    patches: [
      {
        file: "actors/ledger.ts",
        find: "    const outcomes = await deps.commit(",
        put: `    for (const { mutation, resolve } of batch)
      if (mutation.mutation === "admit") resolve({ kind: "admitted", record: admittedRecord(mutation) });
    const outcomes = await deps.commit(`,
      },
      {
        file: "actors/ledger.ts",
        find: 'import type { Clock } from "../src/domain/clock.ts";',
        put: 'import type { Clock } from "../src/domain/clock.ts";\nimport { admittedRecord } from "../src/store/sql/serialized-mutations.ts";',
      },
    ],
    killer: "last-credit",
  },
  {
    name: "unknown-is-rollback",
    breaks: "A commit with an unknown outcome counts as rolled back, and the process continues.",
    standsFor: "the row exists after the next open",
    patches: [
      {
        file: BATCH,
        find: 'if (code === "SQLITE_FULL") return',
        put: 'if (code === "SQLITE_FULL" || code.startsWith("SQLITE_IOERR")) return',
      },
    ],
    killer: "ledger",
  },
  {
    name: "full-is-unknown",
    breaks: "A full disk counts as an unknown outcome: the process exits although nothing was written.",
    standsFor: "a full disk is no unknown outcome",
    patches: [{ file: BATCH, find: 'if (code === "SQLITE_FULL") return', put: 'if (code === "NEVER") return' }],
    killer: "ledger",
  },
  {
    name: "refusal-half-undone",
    breaks: "Partial writes of a refused mutation stay when the other mutations of its batch are committed.",
    standsFor: "a batch of several mutations: each all or nothing",
    patches: [{ file: BATCH, find: "      undo.run();\n", put: "" }],
    killer: "ledger",
  },
  {
    name: "top-up-twice",
    breaks: "A payment event that arrives twice is credited twice.",
    standsFor: "same payment event twice",
    patches: [
      {
        file: CREDIT,
        find: "const known = reference === null ? undefined : yield* first<Known>(SELECT_REFERENCE, reference);",
        put: "const known = undefined as Known | undefined;",
      },
      {
        file: CREDIT,
        find: "const row = [accountSeq, kind, credits, transferredCredits, reference,",
        put: "const row = [accountSeq, kind, credits, transferredCredits, null,",
      },
    ],
    killer: "ledger",
  },
  {
    name: "debt-forgotten",
    breaks: "A dispute beyond the available credits leaves no debt.",
    standsFor: "a withdrawal takes at most the available credits, and the rest is debt",
    patches: [{ file: CREDIT, find: "        yield* owe(accountSeq, moved - credits);\n", put: "" }],
    killer: "ledger",
  },
  {
    name: "debt-never-settled",
    breaks: "Incoming credits do not pay the debt.",
    standsFor: "incoming credits pay the debt first",
    patches: [{ file: CREDIT, find: "      } else if (credits > 0) yield* settle(accountSeq, atMs);", put: "      }" }],
    killer: "ledger",
  },
  {
    name: "debt-not-paid-by-release",
    breaks: "Released credits become available although the account has a debt.",
    standsFor: "a release pays the debt first",
    patches: [
      {
        file: TRANSITION,
        find: "(head?.owedCredits ?? 0) > 0",
        put: "(head?.owedCredits ?? 0) < 0",
      },
    ],
    killer: "ledger",
  },
  {
    name: "held-while-owed",
    breaks: "An account with a debt can hold credits, and otherwise gets the error of a low balance.",
    standsFor: "an account with a debt holds nothing",
    patches: [{ file: ADMISSION, find: "if (owedCredits > 0) return", put: "if (owedCredits < 0) return" }],
    killer: "ledger",
  },
  {
    name: "stale-debt",
    breaks: "The cached balance omits the debt, so an account with a debt can hold credits.",
    standsFor: "an account with a debt holds nothing",
    patches: [{ file: MONEY, find: "owedCredits: head.owedCredits + credits", put: "owedCredits: head.owedCredits" }],
    killer: "ledger",
  },
];
