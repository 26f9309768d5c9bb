// What every dialect promises, tried against the simulator over HTTP: each fault of a submission, a run and a poll, and bodies from the provider's pages.
import { expect } from "bun:test";
import type { JsonObject } from "../../../src/domain/types.ts";
import type { Dialects } from "../../../src/providers/dialect/load.ts";
import type { FindOutcome, PollOutcome, Providers, SubmitOutcome, Work } from "../../../src/providers/port.ts";
import { createProviders } from "../../../src/providers/providers.ts";
import { createSimulator, type Simulator } from "../../../src/simulator/simulator.ts";
import { answer, taskFor } from "../task.ts";

const KEY = "s3cr3t-0123456789";
const never = new AbortController().signal;

/** A body as the provider's own pages show it, and what the adapter must make of it. */
export type Recorded = {
  name: string;
  of: "submit" | "poll" | "result" | "find";
  /** The job that was asked about, where the body names one. */
  job?: string;
  status: number;
  headers?: Record<string, string>;
  body: unknown;
  /** Instead of the body: an answer that is a file itself. */
  bytes?: Uint8Array;
  outcome: object;
};

/** One dialect under test. */
export type DialectCase = {
  provider: string;
  /** Must be enough for the provider to accept it. */
  endpoint: string;
  options?: JsonObject;
  input: JsonObject;
  key?: string;
  /** What a lost submission that was accepted comes to: by the means that the dialect declares. */
  lost: FindOutcome["kind"];
  /** The name of the field that the prompt is in; `prompt` when absent. */
  words?: "prompt" | "text";
  /** Where this provider differs from most: fault → outcome, as `rejected CLASS`, `failed CLASS`, `announced`, `gone`, `ambiguous`; null: it cannot happen. */
  differs?: Readonly<Record<string, string | null>>;
  /** What the provider must have read in a submission, in the words that all share in the simulator. */
  understood?: JsonObject;
  recorded: readonly Recorded[];
};

/** Faults of a submission: outcome, and whether a job exists behind it. */
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
/** What becomes of a job; of a provider that makes it at once, of the submission: `failed` is then `rejected`. */
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

/** What can be found true or not, by itself; `keep` fails where it is not. */
export type Promised = { of: string; name: string; keep: () => void | Promise<void> };

/** A dialect beside the simulator of its provider. */
export type Bed = { promises: readonly Promised[]; close: () => Promise<void> };

/** All promises of a dialect. What they need is opened with the first that is kept. */
export const promisesOf = (one: DialectCase, dialects: Dialects): Bed => {
  const { provider, endpoint, options = {}, input, key = KEY, lost, differs = {}, words = "prompt", understood, recorded } = one;
  const known = dialects.get(provider);
  if (!known) throw new Error(`there is no dialect ${provider}`);
  const { adapter, dialect } = known;
  /** Otherwise it answers the submission with what it made. */
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
    const wish = {
      ...{ provider, endpoint, options, ref: `${provider}${attempts}-1`, sentAtMs: Date.now() },
      input: { ...input, [words]: `${input[words]}, take ${attempts} ${fault && `[sim:${fault}]`}` },
    };
    return taskFor({ ...wish, request: providers.compose(taskFor(wish)) });
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
    return { of: `the pages of ${provider}`, name, keep };
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
      // A provider that knows our key makes nothing twice, however often it is asked.
      expect(simulator.jobs().filter(({ ref }) => ref !== null && ref === sent()[0]?.ref).length).toBeLessThanOrEqual(1);
    };
    return [{ of: `a submission to ${provider}`, name: `with ${fault} is ${submitted}, and is sent once`, keep }];
  });
  if (understood)
    submissions.push({
      ...{ of: `a submission to ${provider}`, name: "is read as it was meant" },
      keep: async () => {
        const { simulator, providers } = await bed();
        await providers.submit(begin(providers, ""), never);
        expect(simulator.submissions().at(-1)?.input).toMatchObject(understood);
      },
    });
  if (lost === "unclear")
    submissions.push({
      ...{ of: `a submission to ${provider}`, name: "that was lost and cannot be looked for says so" },
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
    const name = `with ${fault || "nothing wrong"} ends as ${ends}`;
    return [{ of: `a job of ${provider}`, name, keep: async () => expect(await runOf(fault)).toBe(ends) }];
  });

  return {
    promises: [...pages, ...submissions, ...jobs],
    close: async () => {
      if (opening) await (await opening).simulator.stop();
    },
  };
};
