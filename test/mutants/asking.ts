// Mutants of the effects: when a request is sent, and how a provider's responses are interpreted.
import type { Mutant } from "./mutant.ts";

const ASKING = "src/effects/poll.ts";
const FINDING = "src/effects/job-lookup.ts";
const SUBMITTING = "src/effects/submit.ts";
const LOOKUP = "src/providers/job-lookup.ts";
const RECORDS = "src/generations/record-cache.ts";

export const ASKING_MUTANTS: readonly Mutant[] = [
  {
    name: "send-before-journal",
    breaks: "The service sends a request before the journal on disk contains it.",
    standsFor: "new-api: the provider is paid before the row is inserted",
    patches: [
      {
        file: SUBMITTING,
        find: "  const giveBack = (",
        put: "  const early = new Map<string, ReturnType<typeof deps.providers.submit>>();\n  const giveBack = (",
      },
      {
        file: SUBMITTING,
        find: "      throw fault;\n    }\n    holdSlot(seq, n, release);",
        put: `      throw fault;
    }
    holdSlot(seq, n, release);
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
    name: "send-before-joint-journal",
    breaks: "The service sends the request of an attempt that begins with a free slot before the journal contains it.",
    standsFor: "begin and sending are one transaction",
    patches: [
      {
        file: SUBMITTING,
        find: "      holdSlot(seq, n, release);\n",
        put: `      holdSlot(seq, n, release);
      void deps.providers.submit({ ...work, attempt: { ...work.attempt, request } }, new AbortController().signal).catch(() => undefined);
`,
      },
    ],
    killer: "simulation",
  },
  {
    name: "no-grace",
    breaks: "A lookup that does not find the job counts at once, although the list may show the job later.",
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
    breaks: "The settle time of a list counts from the journal entry, although the provider may have accepted the request later.",
    standsFor: "the settle time counts from the sending",
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
    breaks: "One lookup that does not find the job is proof, although a list may be incomplete for a moment.",
    standsFor: "absent means that lookups after the grace period find no job",
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
    breaks: "A lookup before the settle time counts as one of the two that prove the job absent.",
    standsFor: "two lookups after the settle time agree",
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
    breaks: "A lost submission is sent again, and a rejection of the second counts as proof that the first does not exist.",
    standsFor: "a rejection of a repeated submission proves nothing",
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
    seed: 87,
  },
  {
    name: "clock-trusted",
    breaks: "A list that was requested with a wrong clock counts if it does not contain the job.",
    standsFor: "the wall clock jumps",
    patches: [{ file: FINDING, find: 'seen.kind === "absent" && isClockRight', put: 'seen.kind === "absent"' }],
    killer: "asking",
  },
  {
    name: "settled-while-down",
    breaks: "Time without a running process counts toward the settle time of a list.",
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
    breaks: "A list counts although the provider's clock shows that it was requested for another time.",
    standsFor: "the wall clock jumps, and the machine's clock with it",
    patches: [
      {
        file: LOOKUP,
        find: "isSkewed ||= isClockApart(called.response, lookup.nowMs());",
        put: "isSkewed ||= isClockApart(called.response, Number.NaN);",
      },
    ],
    killer: "look-up",
  },
  {
    name: "watch-asks-by-key",
    breaks: "An attempt that was given up is looked up by submitting it again, which purchases an unwanted job.",
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
    breaks: "A lookup returns a job that belongs to another attempt.",
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
    breaks: "Five polls in a row without a job status end the attempt.",
    standsFor: "LLM Gateway: five poll errors are a failure, though the provider may deliver and bill",
    patches: [
      { file: ASKING, find: "type Polled = {\n", put: "type Polled = {\n  silent?: number;\n" },
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
    breaks: "A client's poll changes the state: a read returns an end that the machine has not reached.",
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
    breaks: "A response without a job status ends the attempt as failed.",
    standsFor: "new-api: an unrecognized poll body is a terminal failure",
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
    breaks: "One response that the job is unknown ends the attempt.",
    standsFor: "a provider forgets the job",
    patches: [
      {
        file: ASKING,
        find: "(gone >= GONE_TIMES && requestedAtMs - goneSinceMs >= GONE_MS / deps.pace)",
        put: "gone >= 1",
      },
    ],
    killer: "asking",
  },
  {
    name: "gone-by-reading",
    breaks: "A response that the job is unknown counts from when a paused process read it, not from the request.",
    standsFor: "simulate, seed 1086312: a request and its response on both sides of a pause of 70 s",
    patches: [{ file: ASKING, find: "isGone(polled, requestedAtMs)", put: "isGone(polled, atMs)" }],
    killer: "asking",
  },
];
