// Tests the simulation's audit of provider jobs: swapped jobs of equal inputs, and jobs that were purchased for nothing.
import { expect, test } from "bun:test";
import type { Attempt, AttemptState } from "../../src/domain/types.ts";
import type { OrphanRow } from "../../src/store/store.ts";
import { auditJobs, type JobEvidence } from "../../src/torture/simulation/audit-jobs.ts";
import type { ReceivedResponse } from "../../src/torture/simulation/clients.ts";
import type { Wrong } from "../../src/torture/simulation/deliveries.ts";
import { PROVIDERS } from "../../src/torture/simulation/market.ts";
import type { UpstreamJob } from "../../src/torture/simulation/upstream.ts";

const withRecovery = (wanted: string): string => {
  const found = Object.entries(PROVIDERS).find(([, { recovery }]) => recovery === wanted);
  if (!found) throw new Error(`no provider of the market recovers by ${wanted}`);
  return found[0];
};
const UNMARKED = withRecovery("list_match");

/** An attempt: the job that the provider created, the job that the attempt has, and whether it is listed as an orphan. */
type Scene = {
  name: string;
  made?: string;
  has?: string;
  state: AttemptState;
  listed?: true;
  /** How the result is wrong, and how its attempt failed. */
  wrong?: Wrong;
  failure?: "mismatched";
  prompt?: string;
  provider?: string;
  erased?: true;
};

const evidenceOf = (scenes: readonly Scene[]): JobEvidence => {
  const full = scenes.map((scene, at) => ({
    prompt: "the same",
    provider: UNMARKED,
    ...scene,
    seq: at + 1,
    ref: `${scene.name}-1`,
  }));
  const bySeq = (seq: number) => full[seq - 1];
  const jobs = full.flatMap(({ made, ref, prompt, provider, wrong = null }) =>
    made === undefined
      ? []
      : [
          {
            provider,
            jobId: made,
            ref,
            input: JSON.stringify(prompt),
            fails: null,
            cancelled: false,
            fileIsLost: false,
            wrong,
          } as UpstreamJob,
        ],
  );
  const heard = full.map(({ seq, prompt }) => ({ accepted: { seq }, planned: { prompt } }) as ReceivedResponse);
  return {
    notebook: { heard },
    upstream: { jobs },
    reads: {
      jobOwner: async (provider, jobId) => {
        const owner = full.find((one) => one.provider === provider && one.has === jobId);
        return owner && { seq: owner.seq, n: 1 };
      },
      findGeneration: async (id) => {
        const found = full.find(({ name }) => `gen_${name}` === id);
        return found && ({ seq: found.seq, id } as Awaited<ReturnType<JobEvidence["reads"]["findGeneration"]>>);
      },
      attempt: async (seq) => {
        const one = bySeq(seq);
        const job = one?.has === undefined ? null : { jobId: one.has };
        const failure = one?.failure ? { class: one.failure, detail: "" } : null;
        return one && ({ ref: one.ref, n: 1, state: one.state, route: { provider: one.provider }, job, failure } as Attempt);
      },
      inputOf: async (seq) => {
        const { prompt = "", erased } = bySeq(seq) ?? {};
        return erased ? { raw: {}, filled: {} } : { raw: { prompt }, filled: { prompt } };
      },
      orphans: async () => full.flatMap(({ listed, ref }) => (listed ? [{ ref } as OrphanRow] : [])),
    },
  };
};
const faultsOf = (...scenes: Scene[]) => auditJobs(evidenceOf(scenes));

test("accepts swapped jobs of equal inputs if the attempt without a job is listed as an orphan", async () => {
  expect(
    await faultsOf(
      { name: "a", made: "job-1", has: "job-2", state: "delivered" },
      { name: "b", made: "job-2", has: "job-3", state: "delivered" },
      { name: "c", made: "job-3", state: "lost", listed: true },
    ),
  ).toEqual([]);
});

test("accepts the job of an equal input that an erased generation keeps", async () => {
  expect(
    await faultsOf(
      { name: "a", made: "job-1", state: "lost", listed: true },
      { name: "b", has: "job-1", state: "delivered", erased: true },
    ),
  ).toEqual([]);
});

test("reports a job whose attempt was wrongly proved absent, although another attempt of the same input is listed", async () => {
  expect(
    await faultsOf(
      { name: "a", made: "job-1", state: "lost", listed: true },
      { name: "b", has: "job-1", state: "delivered" },
      { name: "c", made: "job-2", state: "absent" },
    ),
  ).toEqual(["job-2: a job without an owner; its attempt c-1 is absent, and not listed"]);
});

test("reports a job held by an attempt with another input, and a swapped job that has a client id", async () => {
  expect(
    await faultsOf(
      { name: "a", made: "job-1", state: "lost", listed: true },
      { name: "b", has: "job-1", state: "accepted", prompt: "x" },
    ),
  ).toEqual(["job-1: a-1's, but kept by attempt 1 of 2"]);
  expect(
    await faultsOf(
      { name: "a", made: "job-1", state: "lost", listed: true },
      { name: "b", has: "job-1", state: "accepted", prompt: "x", erased: true },
    ),
  ).toEqual(["job-1: a-1's, but kept by attempt 1 of 2"]);
  const provider = withRecovery("client_id");
  expect(
    await faultsOf(
      { name: "a", made: "job-1", state: "lost", listed: true, provider },
      { name: "b", has: "job-1", state: "accepted", provider },
    ),
  ).toEqual(["job-1: a-1's, but kept by attempt 1 of 2"]);
});

test("reports an unlisted job with a wrong result, and a correct job that was treated as mismatched", async () => {
  const scene = { name: "a", made: "job-1", has: "job-1", state: "mismatched", failure: "mismatched" } as const;
  expect(await faultsOf({ ...scene, wrong: "short" })).toEqual([
    "job-1: its attempt a-1 is mismatched, and not listed",
    "job-1: delivered a mismatched result, and its attempt a-1 is not listed",
  ]);
  expect(await faultsOf({ ...scene, wrong: "short", listed: true })).toEqual([]);
  expect(await faultsOf({ ...scene, listed: true })).toEqual(["job-1: taken for something else, and it was right"]);
});

test("reports a job that was given up and is not listed", async () => {
  expect(await faultsOf({ name: "a", made: "job-1", has: "job-1", state: "capped" })).toEqual([
    "job-1: its attempt a-1 is capped, and not listed",
  ]);
  expect(await faultsOf({ name: "a", made: "job-1", has: "job-1", state: "capped", listed: true })).toEqual([]);
});

test("reports two jobs of one attempt, and a job without an attempt", async () => {
  const evidence = evidenceOf([{ name: "a", made: "job-1", has: "job-1", state: "delivered" }]);
  const [job] = evidence.upstream.jobs;
  if (!job) throw new Error("no job");
  expect(await auditJobs({ ...evidence, upstream: { jobs: [job, { ...job, ref: "z-1", jobId: "job-9" }] } })).toEqual([
    "job-9: taken for z-1, which is not on disk",
  ]);
  expect(await auditJobs({ ...evidence, upstream: { jobs: [job, job] } })).toEqual(["a-1: bought 2 jobs"]);
});
