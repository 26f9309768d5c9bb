// Contract of every dialect: simulator faults of submissions, runs and polls, and recorded provider responses.
import { expect } from "bun:test";
import type { JsonObject } from "../../../src/domain/types.ts";
import type { Dialects } from "../../../src/providers/dialect/load.ts";
import type { FindOutcome, PollOutcome, Providers, SubmitOutcome, Work } from "../../../src/providers/port.ts";
import { createProviders } from "../../../src/providers/providers.ts";
import { createSimulator, type Simulator } from "../../../src/simulator/simulator.ts";
import { answer, taskFor } from "../task.ts";

const KEY = "s3cr3t-0123456789";
const never = new AbortController().signal;

/** A response from the provider's documentation, and the outcome that the adapter must return for it. */
export type Recorded = {
  name: string;
  of: "submit" | "poll" | "result" | "find";
  /** The polled job, if the body names one. */
  job?: string;
  status: number;
  headers?: Record<string, string>;
  body: unknown;
  /** Instead of the body: a response that is the file itself. */
  bytes?: Uint8Array;
  outcome: object;
};

/** One dialect under test. */
export type DialectCase = {
  provider: string;
  /** The provider must accept it. */
  endpoint: string;
  options?: JsonObject;
  input: JsonObject;
  key?: string;
  /** Lookup outcome of a lost submission that was accepted, by the recovery that the dialect declares. */
  lost: FindOutcome["kind"];
  /** The name of the prompt field; `prompt` if absent. */
  words?: "prompt" | "text";
  /**
   * Deviations of this provider: fault → outcome, as `rejected CLASS`, `failed CLASS`, `announced`, `gone`, `ambiguous`;
   * null: the fault cannot occur.
   */
  differs?: Readonly<Record<string, string | null>>;
  /** The parameters that the simulator must have read, by their common names. */
  understood?: JsonObject;
  recorded: readonly Recorded[];
};

/** Faults of a submission: the outcome, and whether a job exists afterwards. */
const SUBMITS: readonly [fault: string, submitted: string, exists: boolean][] = [
  ["drop", "ambiguous", false],
  ["hang", "ambiguous", false],
  ["5xx", "ambiguous", false],
  ["429", "rejected rate_limited", false],
  ["401", "rejected config_fault", false],
  ["402", "rejected balance", false],
  ["403", "rejected config_fault", false],
  ["404", "rejected config_fault", false],
  ["invalid", "rejected invalid_for_route", false],
  ["drop-after", "ambiguous", true],
  ["hang-after", "ambiguous", true],
  ["5xx-after", "ambiguous", true],
  ["rubbish", "ambiguous", true],
  ["no-id", "ambiguous", true],
  ["cut", "ambiguous", true],
];
/** Outcomes of a job; for a synchronous provider those of the submission, with `rejected` instead of `failed`. */
const RUNS: readonly [fault: string, ends: string][] = [
  ["", "announced"],
  ["refuse", "failed refused_input"],
  ["refuse-output", "failed refused_output"],
  ["withheld", "failed refused_output"],
  ["fail", "failed job_failed"],
  ["fail-later", "failed job_failed"],
  ["input-unreachable", "failed input_unreachable"],
  ["no-file", "failed result_unreadable"],
];
const POLLS: readonly [fault: string, ends: string][] = [
  ["aborted", "failed job_failed"],
  ["forget=0", "gone"],
  ["unknown-status", "announced"],
  ["poll-5xx", "announced"],
  ["poll-429", "announced"],
  ["poll-drop", "announced"],
  ["poll-hang", "announced"],
  ["poll-rubbish", "announced"],
  ["result-5xx", "announced"],
];

const said = (outcome: SubmitOutcome | PollOutcome): string => {
  if (outcome.kind === "rejected" || outcome.kind === "failed") return `${outcome.kind} ${outcome.failure.class}`;
  return outcome.kind;
};

/** One clause of the contract; `keep` throws if it does not hold. */
export type Promised = { of: string; name: string; keep: () => void | Promise<void> };

/** A dialect under test with the simulator of its provider. */
export type Bed = { promises: readonly Promised[]; close: () => Promise<void> };

/** All clauses for a dialect. The simulator starts with the first check that needs it. */
export const promisesOf = (one: DialectCase, dialects: Dialects): Bed => {
  const { provider, endpoint, options = {}, input, key = KEY, lost, differs = {}, words = "prompt", understood, recorded } = one;
  const known = dialects.get(provider);
  if (!known) throw new Error(`there is no dialect ${provider}`);
  const { adapter, dialect } = known;
  /** False for a synchronous provider, whose response has the result. */
  const isAsked = dialect.poll !== undefined;
  let opening: Promise<{ simulator: Simulator; providers: Providers }> | undefined;
  const open = async () => {
    const simulator = await createSimulator({ speed: 100_000, seed: 7 });
    const providers = createProviders({
      settings: { [provider]: { base_url: simulator.baseUrls[provider] ?? "", key } },
      dialects,
      isOwned: () => Promise.resolve(false),
      timeouts: { submitMs: 400, pollMs: 150, findMs: 1_000, cancelMs: 1_000 },
    });
    return { simulator, providers };
  };
  const bed = () => {
    opening ??= open();
    return opening;
  };

  let attempts = 0;
  const begin = (providers: Providers, fault: string): Work => {
    attempts += 1;
    const request = {
      ...{ provider, endpoint, options, ref: `${provider}${attempts}-1`, sentAtMs: Date.now() },
      input: { ...input, [words]: `${input[words]}, take ${attempts} ${fault && `[sim:${fault}]`}` },
    };
    return taskFor({ ...request, request: providers.compose(taskFor(request)) });
  };
  const withJob = (task: Work, job: Work["attempt"]["job"]): Work => ({ ...task, attempt: { ...task.attempt, job } });
  const pollOut = async (providers: Providers, task: Work): Promise<PollOutcome> => {
    for (;;) {
      const outcome = await providers.poll(task, never);
      if (outcome.kind !== "pending" && outcome.kind !== "unclear") return outcome;
    }
  };
  const runOf = async (fault: string): Promise<string> => {
    const { providers } = await bed();
    const task = begin(providers, fault);
    const outcome = await providers.submit(task, never);
    return said(outcome.kind === "accepted" ? await pollOut(providers, withJob(task, outcome.job)) : outcome);
  };
  const expected = (fault: string, usual: string): string | null => {
    const own = differs[fault];
    if (own !== undefined) return own;
    return isAsked ? usual : usual.replace(/^failed/, "rejected");
  };

  const pages = recorded.map(({ name, of, job: jobId = "job-1", status, headers = {}, body, bytes, outcome }): Promised => {
    const task = taskFor({ provider, endpoint, options, input, ref: "0k3v9x2m-1" });
    const context = {
      ...{ ref: "0k3v9x2m-1", endpoint, options, baseUrl: "https://provider.example/base", input: task.input },
    };
    const keep = () => {
      const r = bytes ? { status, headers, json: undefined, text: "", bytes } : answer(status, body, headers);
      const job = { jobId };
      const read = {
        submit: () => adapter.readSubmit(r, context),
        poll: () => adapter.readPoll(r, job, context),
        result: () => adapter.readResult?.(r, job, context),
        find: () => adapter.readFind?.(r, context, 0) ?? adapter.readFindPage?.(r, context, 0, null),
      }[of]();
      expect(read).toMatchObject(outcome);
    };
    return { of: `the ${provider} dialect`, name: `reads ${name} in a ${of} response with status ${status}`, keep };
  });

  const submissions = SUBMITS.flatMap(([fault, usual, exists]): Promised[] => {
    const submitted = differs[fault] === undefined ? usual : differs[fault];
    if (submitted === null) return [];
    const keep = async () => {
      const { simulator, providers } = await bed();
      const before = simulator.submissions().length;
      const task = begin(providers, fault);
      expect(said(await providers.submit(task, never))).toBe(submitted);
      const sent = () => simulator.submissions().slice(before);
      expect(sent().length).toBe(1);
      expect(sent()[0]?.accepted).toBe(exists);
      if (submitted !== "ambiguous" || lost === "unclear") return;
      const found = await providers.find(task, never);
      expect<string>(found.kind).toBe(exists || adapter.recovery === "key" ? lost : "absent");
      if (found.kind === "found") expect((await pollOut(providers, withJob(task, found.job))).kind).toBe("announced");
      // A provider with idempotency keys creates at most one job for a reference.
      expect(simulator.jobs().filter(({ ref }) => ref !== null && ref === sent()[0]?.ref).length).toBeLessThanOrEqual(1);
    };
    return [{ of: `a submission to ${provider}`, name: `with fault ${fault} is ${submitted}, and is sent once`, keep }];
  });
  if (understood)
    submissions.push({
      ...{ of: `a submission to ${provider}`, name: "arrives with the expected parameters" },
      keep: async () => {
        const { simulator, providers } = await bed();
        await providers.submit(begin(providers, ""), never);
        expect(simulator.submissions().at(-1)?.input).toMatchObject(understood);
      },
    });
  if (lost === "unclear")
    submissions.push({
      ...{ of: `a submission to ${provider}`, name: "that is lost is unclear, because the provider has no lookup" },
      keep: async () => {
        const { providers } = await bed();
        const task = begin(providers, "drop-after");
        await providers.submit(task, never);
        expect((await providers.find(task, never)).kind).toBe("unclear");
      },
    });

  const jobs = (isAsked ? [...RUNS, ...POLLS] : RUNS).flatMap(([fault, usual]): Promised[] => {
    const ends = expected(fault, usual);
    if (ends === null) return [];
    const name = `with fault ${fault || "none"} ends as ${ends}`;
    return [{ of: `a job of ${provider}`, name, keep: async () => expect(await runOf(fault)).toBe(ends) }];
  });

  return {
    promises: [...pages, ...submissions, ...jobs],
    close: async () => {
      if (opening) await (await opening).simulator.stop();
    },
  };
};
