// The auditor of jobs tells jobs that changed places from one that was bought for nothing.
import { expect, test } from "bun:test";
import type { Attempt, AttemptState } from "../../src/domain/types.ts";
import type { OrphanRow } from "../../src/store/store.ts";
import { auditJobs, type JobEvidence } from "../../src/torture/simulation/audit-jobs.ts";
import type { Wrong } from "../../src/torture/simulation/deliveries.ts";
import { PROVIDERS } from "../../src/torture/simulation/market.ts";
import type { UpstreamJob } from "../../src/torture/simulation/upstream.ts";

const withRecovery = (wanted: string): string => {
  const found = Object.entries(PROVIDERS).find(([, { recovery }]) => recovery === wanted);
  if (!found) throw new Error(`no provider of the market recovers by ${wanted}`);
  return found[0];
};
const UNMARKED = withRecovery("list_match");

/** An attempt: the job that the provider made of it, if its request arrived; the job that it has, if any; and whether it is listed. */
type Scene = {
  name: string;
  made?: string;
  has?: string;
  state: AttemptState;
  listed?: true;
  /** In what it is wrong, and what its attempt failed with. */
  wrong?: Wrong;
  failure?: "mismatched";
  prompt?: string;
  provider?: string;
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
  return {
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
        const prompt = bySeq(seq)?.prompt ?? "";
        return { raw: { prompt }, filled: { prompt } };
      },
      orphans: async () => full.flatMap(({ listed, ref }) => (listed ? [{ ref } as OrphanRow] : [])),
    },
  };
};
const faultsOf = (...scenes: Scene[]) => auditJobs(evidenceOf(scenes));

test("jobs of equal inputs that changed places are passed when the attempt that was left without one is listed", async () => {
  expect(
    await faultsOf(
      { name: "a", made: "J1", has: "J2", state: "delivered" },
      { name: "b", made: "J2", has: "J3", state: "delivered" },
      { name: "c", made: "J3", state: "lost", listed: true },
    ),
  ).toEqual([]);
});

test("a job whose attempt was wrongly proved absent is found, though another attempt of the same input is listed", async () => {
  expect(
    await faultsOf(
      { name: "a", made: "J1", state: "lost", listed: true },
      { name: "b", has: "J1", state: "delivered" },
      { name: "c", made: "J2", state: "absent" },
    ),
  ).toEqual(["J2: nobody's; its attempt c-1 is absent, and not listed"]);
});

test("a job that an attempt of another input keeps is found, and so is one that changed places although it bears a mark", async () => {
  expect(
    await faultsOf(
      { name: "a", made: "J1", state: "lost", listed: true },
      { name: "b", has: "J1", state: "accepted", prompt: "x" },
    ),
  ).toEqual(["J1: a-1's, but kept by attempt 1 of 2"]);
  const provider = withRecovery("client_id");
  expect(
    await faultsOf(
      { name: "a", made: "J1", state: "lost", listed: true, provider },
      { name: "b", has: "J1", state: "accepted", provider },
    ),
  ).toEqual(["J1: a-1's, but kept by attempt 1 of 2"]);
});

test("a job that delivered something else and is not listed is found, and so is one that was right all the same", async () => {
  const scene = { name: "a", made: "J1", has: "J1", state: "mismatched", failure: "mismatched" } as const;
  expect(await faultsOf({ ...scene, wrong: "short" })).toEqual([
    "J1: its attempt a-1 is mismatched, and not listed",
    "J1: paid for something else, and its attempt a-1 is not listed",
  ]);
  expect(await faultsOf({ ...scene, wrong: "short", listed: true })).toEqual([]);
  expect(await faultsOf({ ...scene, listed: true })).toEqual(["J1: taken for something else, and it was right"]);
});

test("a job that was given up and is not listed is found", async () => {
  expect(await faultsOf({ name: "a", made: "J1", has: "J1", state: "capped" })).toEqual([
    "J1: its attempt a-1 is capped, and not listed",
  ]);
  expect(await faultsOf({ name: "a", made: "J1", has: "J1", state: "capped", listed: true })).toEqual([]);
});

test("two jobs of one attempt, and a job of none, are found", async () => {
  const evidence = evidenceOf([{ name: "a", made: "J1", has: "J1", state: "delivered" }]);
  const [job] = evidence.upstream.jobs;
  if (!job) throw new Error("no job");
  expect(await auditJobs({ ...evidence, upstream: { jobs: [job, { ...job, ref: "z-1", jobId: "J9" }] } })).toEqual([
    "J9: taken for z-1, which is not on disk",
  ]);
  expect(await auditJobs({ ...evidence, upstream: { jobs: [job, job] } })).toEqual(["a-1: bought 2 jobs"]);
});
