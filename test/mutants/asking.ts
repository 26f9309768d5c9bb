// Mutants of the effects: when a request leaves, and what a provider's answers are taken for.
import type { Mutant } from "./mutant.ts";

const ASKING = "src/effects/poll.ts";
const FINDING = "src/effects/job-lookup.ts";
const SUBMITTING = "src/effects/submit.ts";
const LOOKUP = "src/providers/job-lookup.ts";
const RECORDS = "src/generations/record-cache.ts";

export const ASKING_MUTANTS: readonly Mutant[] = [
  {
    name: "send-before-journal",
    breaks: "The request leaves before it is on disk that it may be out.",
    standsFor: "new-api: the provider is paid, then the row is inserted",
    patches: [
      {
        file: SUBMITTING,
        find: "  const giveBack = (",
        put: "  const early = new Map<string, ReturnType<typeof deps.providers.submit>>();\n  const giveBack = (",
      },
      {
        file: SUBMITTING,
        find: `    slots.set(\`\${seq}:\${n}\`, release);`,
        put: `    slots.set(\`\${seq}:\${n}\`, release);
    early.set(\`\${seq}:\${n}\`, deps.providers.submit({ ...work, attempt: { ...work.attempt, request } }, signal));`,
      },
      {
        file: SUBMITTING,
        find: "await deps.providers.submit(work, signal);",
        put: `await (early.get(\`\${seq}:\${n}\`) ?? deps.providers.submit(work, signal));`,
      },
    ],
    killer: "simulation",
  },
  {
    name: "no-grace",
    breaks: "A look-up that does not find the job is believed at once, while it may still be on its way to the list.",
    standsFor: "no settle time",
    patches: [
      {
        file: FINDING,
        find: "requestedAtMs - settlesFromMs >= traits.findSettleMs / deps.pace",
        put: "requestedAtMs > 0",
      },
    ],
    killer: "asking",
  },
  {
    name: "settled-while-sending",
    breaks:
      "A list counts as searched for as long as the journal is old, although the provider may have taken the request later.",
    standsFor: "absent is counted from the sending",
    patches: [
      {
        file: FINDING,
        find: "Math.max(sentAtMs, lostMs, livedSinceMs(task.seq, task.n))",
        put: "Math.max(sentAtMs, livedSinceMs(task.seq, task.n))",
      },
    ],
    killer: "asking",
  },
  {
    name: "one-absence",
    breaks: "One look-up that does not find the job is proof, although a list may be incomplete for a moment.",
    standsFor: "absent means look-up says no, after grace",
    patches: [
      {
        file: FINDING,
        find: "if (absences >= 2)",
        put: "if (absences >= 1)",
      },
    ],
    killer: "asking",
  },
  {
    name: "one-settled-absence",
    breaks: "A look-up from before the list had time to show the job counts as one of the two that prove it absent.",
    standsFor: "two look-ups after the settle time agree",
    patches: [
      {
        file: FINDING,
        find: 'seen.kind === "absent" && isClockRight && hasSettled ? absences + 1 : 0;\n      if (absences >= 2)',
        put: 'seen.kind === "absent" && isClockRight ? absences + 1 : 0;\n      if (absences >= 2 && hasSettled)',
      },
    ],
    killer: "asking",
  },
  {
    name: "trust-rejected-resend",
    breaks: "A lost submission is sent again, and a refusal of the second is taken as proof that the first does not exist.",
    standsFor: "a rejection of a re-submit proves nothing",
    patches: [
      {
        file: FINDING,
        find: "      const seen = await once(task, work);\n      const atMs",
        put: `      const again = traits.recovery === "key" ? await deps.providers.submit(work, task.signal) : null;
      const seen: FindOutcome =
        again?.kind === "accepted" ? { kind: "found", job: again.job } : again?.kind === "rejected" ? { kind: "absent" } : await once(task, work);
      if (again?.kind === "rejected" && !task.signal.aborted) return { kind: "absent" };
      const atMs`,
      },
    ],
    killer: "simulation",
    seed: 420,
  },
  {
    name: "clock-trusted",
    breaks: "A list that was asked for by a clock which is off is believed when it does not hold the job.",
    standsFor: "the wall clock jumps",
    patches: [{ file: FINDING, find: 'seen.kind === "absent" && isClockRight', put: 'seen.kind === "absent"' }],
    killer: "asking",
  },
  {
    name: "settled-while-down",
    breaks: "Time in which nobody lived counts as time that a list had to show the job.",
    standsFor: "a jump of the clock between two processes",
    patches: [
      {
        file: FINDING,
        find: "const settlesFromMs = Math.max(sentAtMs, lostMs, livedSinceMs(task.seq, task.n));",
        put: "const settlesFromMs = Math.min(sentAtMs, bornMs);",
      },
    ],
    killer: "asking",
  },
  {
    name: "clocks-apart-ignored",
    breaks: "A list is believed although its provider's own clock shows that it was asked about another time.",
    standsFor: "the wall clock jumps, and the machine's clock with it",
    patches: [
      {
        file: LOOKUP,
        find: "isApart ||= isClockApart(called.response, lookup.nowMs());",
        put: "isApart ||= isClockApart(called.response, Number.NaN);",
      },
    ],
    killer: "look-up",
  },
  {
    name: "watch-asks-by-key",
    breaks: "An attempt that was given up is asked about by submitting it again: what nobody wants any more is bought.",
    standsFor: "a key finds a job by making it",
    patches: [
      {
        file: ASKING,
        find: 'if (recovery === "none" || recovery === "key") continue;',
        put: 'if (recovery === "none") continue;',
      },
    ],
    killer: "asking",
  },
  {
    name: "job-adopted-twice",
    breaks: "A job found on a list is taken although it belongs to another attempt.",
    standsFor: "invariant 7: no upstream id occurs in two attempts",
    patches: [
      {
        file: FINDING,
        find: "if (!owner || (owner.seq === task.seq && owner.n === task.n)) return found;",
        put: "if (!owner || owner.seq > 0) return found;",
      },
    ],
    killer: "asking",
  },
  {
    name: "outage-fails",
    breaks: "Five polls in a row without an answer about the job end its attempt.",
    standsFor: "LLM Gateway: five poll errors are a failure, though the provider may deliver and bill",
    patches: [
      { file: ASKING, find: "type Polled = { turn: number;", put: "type Polled = { silent?: number; turn: number;" },
      {
        file: ASKING,
        find: '      case "unclear":\n        deps.log(',
        put: `      case "unclear":
        polled.silent = (polled.silent ?? 0) + 1;
        if (polled.silent >= 5) {
          deps.report(seq, { type: "jobFailed", n, failure: { class: "gone", detail: "" }, atMs });
          return null;
        }
        deps.log(`,
      },
    ],
    killer: "asking",
  },
  {
    name: "poll-settles",
    breaks: "A poll decides: a read shows an end that the machine has not made.",
    standsFor: "new-api: a poll by the user moves the task to FAILURE",
    patches: [
      {
        file: RECORDS,
        find: "return known?.record.id === id && known.record.accountSeq === accountSeq ? known : undefined;",
        put: `if (known?.record.id !== id || known.record.accountSeq !== accountSeq) return undefined;
        const { record } = known;
        if (record.status !== "running" || record.message === null) return known;
        const error = { code: "provider_failed", message: "" } as const;
        return { shown: null, record: { ...record, status: "failed", message: null, costCredits: 0, error, completedAtMs: record.createdAtMs } };`,
      },
    ],
    killer: "simulation",
  },
  {
    name: "unclear-poll-fails",
    breaks: "An answer that says nothing about the job ends its attempt as failed.",
    standsFor: "new-api: an unrecognised poll body is a terminal failure",
    patches: [
      {
        file: ASKING,
        find: '      case "unclear":\n        deps.log(',
        put: '      case "unclear":\n        deps.report(seq, { type: "jobFailed", n, failure: { class: "job_failed", detail: "" }, atMs });\n        deps.log(',
      },
    ],
    killer: "asking",
  },
  {
    name: "gone-at-once",
    breaks: "One answer that the job is not known ends its attempt.",
    standsFor: "a provider forgets the job",
    patches: [
      {
        file: ASKING,
        find: "if (polled.gone >= GONE_TIMES && requestedAtMs - polled.goneSinceMs >= GONE_MS / deps.pace) {",
        put: "if (polled.gone >= 1) {",
      },
    ],
    killer: "asking",
  },
  {
    name: "gone-by-reading",
    breaks: "An old answer that the job is not known counts from when it was read, by a process that stood still in between.",
    standsFor: "simulate, seed 1086312: one question and its answer on both sides of a pause of 70 s",
    patches: [{ file: ASKING, find: "requestedAtMs - polled.goneSinceMs", put: "atMs - polled.goneSinceMs" }],
    killer: "asking",
  },
];
