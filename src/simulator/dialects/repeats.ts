// Repeated submissions with one key: the first creates the job.
//
// The others receive its response, or are refused.
import type { JsonObject } from "../../domain/types.ts";
import { type Bench, type DialectResponses, takeIn } from "../accept-job.ts";
import type { Answer, Reply, SimulatorRequest } from "../http-server.ts";
import { bodyObject } from "../http-server.ts";
import type { Job } from "../jobs.ts";

/** The keys of one simulator. Jobs are read from its job list, so a restart keeps every accepted one. */
type Keys = {
  /** Jobs by their reference, and the number of jobs already indexed. */
  byMark: Map<string, Job>;
  seen: number;
  /** The latest submission of each key that is still being accepted. */
  underWay: Map<string, Promise<unknown>>;
  /** Keys of submissions that were lost before acceptance. */
  lost: Set<string>;
};
const indexes = new WeakMap<Bench["jobs"], Map<string, Keys>>();

const keysOf = (bench: Bench, provider: string): Keys => {
  const byProvider = indexes.get(bench.jobs) ?? new Map<string, Keys>();
  indexes.set(bench.jobs, byProvider);
  const known = byProvider.get(provider);
  if (known) return known;
  const keys: Keys = { byMark: new Map(), seen: 0, underWay: new Map(), lost: new Set() };
  byProvider.set(provider, keys);
  return keys;
};

const jobUnder = (bench: Bench, provider: string, keys: Keys, key: string): Job | undefined => {
  for (const job of bench.jobs.of(provider).slice(keys.seen)) if (job.ref !== null) keys.byMark.set(job.ref, job);
  keys.seen = bench.jobs.of(provider).length;
  return keys.byMark.get(key);
};

/** A prompt tag loses a submission once. A repetition succeeds, as after a short network failure. */
const withoutMagic = (bench: Bench): Bench => ({
  ...bench,
  script: {
    ...bench.script,
    choose: (request, stages) => bench.script.choose(stages.includes("submit") ? { ...request, prompt: "" } : request, stages),
  },
});

/** Logs a submission without a job, and returns `reply`. */
const note = (
  bench: Bench,
  words: DialectResponses,
  request: SimulatorRequest,
  endpoint: string,
  credential: string,
  reply: Reply,
): Promise<Answer> => takeIn(bench, { ...words, inputOf: () => undefined, invalid: () => reply }, request, endpoint, credential);

/**
 * Accepts a submission whose `key` may be known already; jobs must carry the key as their reference. @param differs the refusal
 * of a submission with a used key; undefined if it repeats the first one
 */
export const takeInOnce = async (
  bench: Bench,
  words: DialectResponses,
  request: SimulatorRequest,
  endpoint: string,
  credential: string | undefined,
  key: string | undefined,
  differs: (job: Job, input: JsonObject | undefined) => Reply | undefined,
): Promise<Answer> => {
  if (key === undefined || credential === undefined) return takeIn(bench, words, request, endpoint, credential);
  const keys = keysOf(bench, words.provider);
  const before = keys.underWay.get(key);
  const work = async (): Promise<Answer> => {
    await before;
    const job = jobUnder(bench, words.provider, keys, key);
    if (job) {
      const body = bodyObject(request);
      const other = differs(job, body && words.inputOf(body));
      const declared = other ?? (await words.accepted(job, request));
      return declared.kind === "reply" ? note(bench, words, request, endpoint, credential, declared) : declared;
    }
    const answer = await takeIn(keys.lost.has(key) ? withoutMagic(bench) : bench, words, request, endpoint, credential);
    const isLost = answer.kind !== "reply" || answer.status >= 500;
    if (isLost && jobUnder(bench, words.provider, keys, key) === undefined) keys.lost.add(key);
    return answer;
  };
  const mine = work();
  keys.underWay.set(key, mine);
  try {
    return await mine;
  } finally {
    if (keys.underWay.get(key) === mine) keys.underWay.delete(key);
  }
};
