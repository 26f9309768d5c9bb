// Tests the simulation's audit: it reports every kind of tampering with client, provider and database evidence.
import { expect, setDefaultTimeout, test } from "bun:test";
import type { GenerationRecord } from "../../src/domain/types.ts";
import type { StoreReads } from "../../src/store/store.ts";
import { audit, type Evidence } from "../../src/torture/simulation/audit.ts";
import { fileNameOf } from "../../src/torture/simulation/media.ts";
import { runSeed } from "../../src/torture/simulation/run.ts";
import type { UpstreamJob } from "../../src/torture/simulation/upstream.ts";

setDefaultTimeout(60_000);

type Ends = Map<string, GenerationRecord>;
type Tampering = { said: string; tamper: (evidence: Evidence, ends: Ends) => Evidence | undefined; found: RegExp };

const delivered = (ends: Ends): GenerationRecord => {
  const end = [...ends.values()].find(({ status }) => status === "succeeded");
  if (!end) throw new Error("the world has no delivery");
  return end;
};
const firstHeard = (evidence: Evidence) => {
  const heard = evidence.notebook.heard.find((one) => one.accepted && one.planned.key !== null && !one.replayed);
  if (!heard?.accepted) throw new Error("the world has no accepted submission with a key");
  return { ...heard, accepted: heard.accepted };
};
const put = (ends: Ends, end: GenerationRecord, change: Partial<GenerationRecord>) =>
  void ends.set(end.id, { ...end, ...change });
const withJobs = (evidence: Evidence, jobs: UpstreamJob[]): Evidence => ({
  ...evidence,
  upstream: { ...evidence.upstream, jobs },
});
const withReads = (evidence: Evidence, reads: Partial<StoreReads>): Evidence => ({
  ...evidence,
  reads: { ...evidence.reads, ...reads },
});

const TAMPERINGS: Tampering[] = [
  { said: "an acknowledged generation is gone", tamper: (_, ends) => void ends.delete(delivered(ends).id), found: /not there/ },
  {
    said: "a delivery is charged a credit too much",
    tamper: (_, ends) => put(ends, delivered(ends), { costCredits: (delivered(ends).costCredits ?? 0) + 1 }),
    found: /charged|changed after its end/,
  },
  {
    said: "a charged delivery is too short",
    tamper: (evidence, ends) => {
      const charged = delivered(ends).output?.files[0]?.sha256;
      const jobs = evidence.upstream.jobs.map((job) =>
        fileNameOf(job.provider, job.jobId) === charged ? { ...job, wrong: "short" as const } : job,
      );
      return withJobs(evidence, jobs);
    },
    found: /charged for \S+, which is short, not what was ordered/,
  },
  {
    said: "a generation continues after its end",
    tamper: (_, ends) => put(ends, delivered(ends), { status: "running", completedAtMs: null, output: null, costCredits: null }),
    found: /went from succeeded back to running/,
  },
  {
    said: "the reserve is more than max_cost_usd",
    tamper: (evidence, ends) => {
      const heard = firstHeard(evidence);
      const seen = [{ ...heard, planned: { ...heard.planned, maxCostCredits: heard.accepted.reservedCredits - 1 } }];
      return ends.has(heard.accepted.id) ? { ...evidence, notebook: { ...evidence.notebook, heard: seen } } : undefined;
    },
    found: /more than max_cost_usd/,
  },
  {
    said: "one key made two generations",
    tamper: (evidence) => {
      const heard = firstHeard(evidence);
      const twin = { ...heard, accepted: { ...heard.accepted, id: `${heard.accepted.id}x` } };
      return { ...evidence, notebook: { ...evidence.notebook, heard: [...evidence.notebook.heard, twin] } };
    },
    found: /made gen_\w+ and gen_\w+/,
  },
  {
    said: "one key was accepted with two bodies",
    tamper: (evidence) => {
      const twin = { ...firstHeard(evidence), body: "{}" };
      return { ...evidence, notebook: { ...evidence.notebook, heard: [...evidence.notebook.heard, twin] } };
    },
    found: /two different requests|two bodies/,
  },
  {
    said: "a conflict over an unused key",
    tamper: (evidence) => {
      const heard = firstHeard(evidence);
      const request = { ...heard.planned, key: "never used" };
      const conflict = { ...heard, wish: request, accepted: null, refused: "idempotency_conflict" };
      return { ...evidence, notebook: { ...evidence.notebook, heard: [...evidence.notebook.heard, conflict] } };
    },
    found: /a conflict over key/,
  },
  {
    said: "a provider has a job that is not in the database",
    tamper: (evidence) => {
      const [job] = evidence.upstream.jobs;
      return job && withJobs(evidence, [...evidence.upstream.jobs, { ...job, jobId: "unheard-of", ref: `${job.ref}9` }]);
    },
    found: /not on disk/,
  },
  {
    said: "one submission bought two jobs",
    tamper: (evidence) => {
      const [job] = evidence.upstream.jobs;
      return job && withJobs(evidence, [...evidence.upstream.jobs, job]);
    },
    found: /bought 2 jobs/,
  },
  {
    said: "a job's attempt was treated as rejected",
    tamper: (evidence) =>
      withReads(evidence, {
        jobOwner: async () => undefined,
        attempt: async (seq, n) => {
          const attempt = await evidence.reads.attempt(seq, n);
          return attempt && { ...attempt, state: "rejected" };
        },
      }),
    found: /a job without an owner; its attempt \S+ is rejected/,
  },
  {
    said: "a credit is missing",
    tamper: (evidence) =>
      withReads(evidence, {
        accounts: async () =>
          (await evidence.reads.accounts()).map((account) => ({ ...account, availableCredits: account.availableCredits - 1 })),
      }),
    found: /is not the \d+ it was given/,
  },
  {
    said: "credits are never released",
    tamper: (evidence) =>
      withReads(evidence, {
        accounts: async () => (await evidence.reads.accounts()).map((account) => ({ ...account, heldCredits: 1, inProgress: 1 })),
      }),
    found: /1 credits held and 1 in progress at the end/,
  },
  {
    said: "a limited end user has spent more than its limit",
    tamper: (evidence, ends) => {
      const spent = { ...delivered(ends), costCredits: 1_000, labels: { metadata: null, endUser: "limited" } };
      ends.set(spent.id, spent);
      return evidence;
    },
    found: /end user limited has spent \d+, more than its limit/,
  },
  {
    said: "an end user still holds credits",
    tamper: (evidence) =>
      withReads(evidence, {
        endUsers: async (...query) =>
          (await evidence.reads.endUsers(...query)).map((endUser) => ({ ...endUser, heldCredits: 1 })),
      }),
    found: /end user \w+ has spent \d+ and holds 1, its generations cost \d+/,
  },
  {
    said: "the file of a delivery was overwritten",
    tamper: (evidence, ends) => ({ ...evidence, kept: new Map([[delivered(ends).id, "another"]]) }),
    found: /the file that is kept is not the one/,
  },
  {
    said: "a generation never ends",
    tamper: (_, ends) => put(ends, delivered(ends), { completedAtMs: null }),
    found: /long after peace/,
  },
];

/** Whether a world contains everything that the tamperings change. */
const isRich = (evidence: Evidence, ends: ReadonlyMap<string, GenerationRecord>): boolean =>
  [...ends.values()].some(({ status }) => status === "succeeded") &&
  evidence.notebook.heard.some((one) => one.accepted && one.planned.key !== null && !one.replayed && ends.has(one.accepted.id)) &&
  evidence.upstream.jobs.some((job) => job.fails === null);

test("accepts an unchanged world, and reports every tampering with it", async () => {
  const missed: string[] = [];
  let isWitnessed = false;
  for (let seed = 1; !isWitnessed && seed <= 40; seed += 1) {
    const end = await runSeed(seed, {
      witness: async (evidence, ends) => {
        if (!isRich(evidence, ends)) return;
        isWitnessed = true;
        expect(await audit(evidence, ends)).toEqual([]);
        for (const { said, tamper, found } of TAMPERINGS) {
          const others: Ends = new Map(ends);
          const faults = await audit(tamper(evidence, others) ?? evidence, others);
          if (!faults.some((fault) => found.test(fault))) missed.push(`${said}: ${faults.join("; ") || "nothing found"}`);
        }
      },
    });
    expect(end.faults).toEqual([]);
  }
  expect(isWitnessed).toBe(true);
  expect(missed).toEqual([]);
});
