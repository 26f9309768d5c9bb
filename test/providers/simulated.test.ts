// Adapters of fal and Replicate against the simulator over HTTP: faults of submissions, runs and polls.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { FindOutcome, PollOutcome, Providers, Work } from "../../src/providers/port.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import { never, open, ready } from "./open-providers.ts";

const PROVIDERS = ["fal", "replicate"] as const;
const ENDPOINT = "sim/image-1";

let simulator: Simulator;
let providers: Providers;
beforeAll(async () => {
  simulator = await createSimulator({ speed: 100_000, seed: 7 });
  providers = open(
    { fal: simulator.falUrl, replicate: simulator.replicateUrl },
    { timeouts: { submitMs: 150, pollMs: 150, findMs: 1_000 } },
  );
});
afterAll(() => simulator.stop());

let attempts = 0;
/** An image attempt whose prompt has the marker of a simulator fault. */
const begin = (provider: (typeof PROVIDERS)[number], fault: string): Work => {
  attempts += 1;
  return ready(providers, {
    provider,
    ref: `sim${attempts}-1`,
    input: { prompt: `a fox, take ${attempts} ${fault && `[sim:${fault}]`}` },
    options: provider === "fal" ? { marker: "end_user_id" } : {},
    sentAtMs: Date.now(),
    endpoint: ENDPOINT,
  });
};
const withJob = (task: Work, job: Work["attempt"]["job"]): Work => ({ ...task, attempt: { ...task.attempt, job } });

/** Polls until the outcome is neither pending nor unclear. */
const pollOut = async (task: Work): Promise<PollOutcome> => {
  for (;;) {
    const outcome = await providers.poll(task, never);
    if (outcome.kind !== "pending" && outcome.kind !== "unclear") return outcome;
  }
};
/** Looks the job up until the list shows it, at most `turns` times. */
const findOut = async (task: Work, turns = 20): Promise<FindOutcome> => {
  const outcome = await providers.find(task, never);
  return outcome.kind === "found" || turns === 0 ? outcome : findOut(task, turns - 1);
};

const SUBMITS: [fault: string, submitted: string, found: string][] = [
  ["drop", "ambiguous", "absent"],
  ["hang", "ambiguous", "absent"],
  ["5xx", "ambiguous", "absent"],
  ["429", "rejected rate_limited", "absent"],
  ["401", "rejected config_fault", "absent"],
  ["402", "rejected balance", "absent"],
  ["403", "rejected config_fault", "absent"],
  ["404", "rejected config_fault", "absent"],
  ["invalid", "rejected invalid_for_route", "absent"],
  ["drop-after", "ambiguous", "found"],
  ["hang-after", "ambiguous", "found"],
  ["5xx-after", "ambiguous", "found"],
  ["rubbish", "ambiguous", "found"],
  ["no-id", "ambiguous", "found"],
  ["cut", "ambiguous", "found"],
];
for (const provider of PROVIDERS)
  describe(`a submission to ${provider}`, () => {
    for (const [fault, submitted, found] of SUBMITS)
      test(`with fault ${fault} is ${submitted}, its lookup is ${found}, and it is sent once`, async () => {
        const before = simulator.submissions().length;
        const task = begin(provider, fault);
        const outcome = await providers.submit(task, never);
        expect(outcome.kind === "rejected" ? `rejected ${outcome.failure.class}` : outcome.kind).toBe(submitted);
        const seen = await findOut(task, found === "found" ? 20 : 3);
        expect<string>(seen.kind).toBe(found);
        if (seen.kind === "found") expect((await pollOut(withJob(task, seen.job))).kind).toBe("announced");
        expect(simulator.submissions().length).toBe(before + 1);
      });
  });

const RUNS: [fault: string, fal: string, replicate: string][] = [
  ["", "announced", "announced"],
  ["refuse", "failed refused_input", "failed refused_input"],
  ["refuse-output", "failed job_failed", "failed refused_output"],
  ["fail", "failed job_failed", "failed job_failed"],
  ["fail-later", "failed job_failed", "failed job_failed"],
  ["input-unreachable", "failed input_unreachable", "failed input_unreachable"],
  ["aborted", "failed overloaded", "failed job_failed"],
  ["forget", "gone", ""],
  ["unknown-status", "announced", "announced"],
  ["poll-5xx", "announced", "announced"],
  ["poll-429", "announced", "announced"],
  ["poll-drop", "announced", "announced"],
  ["poll-hang", "announced", "announced"],
  ["poll-rubbish", "announced", "announced"],
  ["result-5xx", "announced", "announced"],
  ["no-file", "failed result_unreadable", "failed result_unreadable"],
];
describe("a job", () => {
  for (const [fault, ...ends] of RUNS)
    for (const [at, provider] of PROVIDERS.entries())
      if (ends[at])
        test(`of ${provider} with fault ${fault || "none"} ends as ${ends[at]}`, async () => {
          const task = begin(provider, fault);
          const submitted = await providers.submit(task, never);
          expect(submitted.kind).toBe("accepted");
          if (submitted.kind !== "accepted") return;
          const outcome = await pollOut(withJob(task, submitted.job));
          expect(outcome.kind === "failed" ? `failed ${outcome.failure.class}` : outcome.kind).toBe(ends[at] ?? "");
        });

  for (const provider of PROVIDERS)
    test(`of ${provider} is unclear when the poll response exceeds 1 MiB`, async () => {
      const task = begin(provider, "poll-huge=2");
      const submitted = await providers.submit(task, never);
      expect(submitted.kind).toBe("accepted");
      if (submitted.kind !== "accepted") return;
      expect(await providers.poll(withJob(task, submitted.job), never)).toEqual({
        kind: "unclear",
        detail: "200, but over 1048576 bytes",
      });
    });
});
