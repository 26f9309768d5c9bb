// Submissions that come again under the same key: the first makes the job; the others are told of it, or turned down.
import type { JsonObject } from "../../domain/types.ts";
import { type Bench, type DialectResponses, takeIn } from "../accept-job.ts";
import type { Answer, Reply, SimulatorRequest } from "../http-server.ts";
import { bodyObject } from "../http-server.ts";
import type { Job } from "../jobs.ts";

/** What one simulator knows of keys; jobs are read from its book, so a restart forgets none that was accepted. */
type Keys = {
  /** Jobs by their mark, and how many of the book were looked at. */
  byMark: Map<string, Job>;
  seen: number;
  /** The last submission under a key that is still being taken in. */
  underWay: Map<string, Promise<unknown>>;
  /** Keys whose submission was lost before anything was accepted. */
  lost: Set<string>;
};
const books = new WeakMap<Bench["jobs"], Map<string, Keys>>();

const keysOf = (bench: Bench, provider: string): Keys => {
  const byProvider = books.get(bench.jobs) ?? new Map<string, Keys>();
  books.set(bench.jobs, byProvider);
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

/** Magic words lose a submission once: whoever sends it again gets through, as if the line had been bad for a moment. */
const withoutMagic = (bench: Bench): Bench => ({
  ...bench,
  script: {
    ...bench.script,
    choose: (request, stages) => bench.script.choose(stages.includes("submit") ? { ...request, prompt: "" } : request, stages),
  },
});

/** Writes a submission down as one that made nothing, and gives `reply`. */
const note = (
  bench: Bench,
  words: DialectResponses,
  ask: SimulatorRequest,
  endpoint: string,
  credential: string,
  reply: Reply,
): Promise<Answer> => takeIn(bench, { ...words, inputOf: () => undefined, invalid: () => reply }, ask, endpoint, credential);

/**
 * Takes a submission in whose `key` may have come before; jobs must carry it as their mark.
 * @param differs what the provider says to a submission that may not have this key any more; undefined: it is the same one again
 */
export const takeInOnce = async (
  bench: Bench,
  words: DialectResponses,
  ask: SimulatorRequest,
  endpoint: string,
  credential: string | undefined,
  key: string | undefined,
  differs: (job: Job, input: JsonObject | undefined) => Reply | undefined,
): Promise<Answer> => {
  if (key === undefined || credential === undefined) return takeIn(bench, words, ask, endpoint, credential);
  const keys = keysOf(bench, words.provider);
  const before = keys.underWay.get(key);
  const work = async (): Promise<Answer> => {
    await before;
    const job = jobUnder(bench, words.provider, keys, key);
    if (job) {
      const body = bodyObject(ask);
      const other = differs(job, body && words.inputOf(body));
      const said = other ?? (await words.accepted(job, ask));
      return said.kind === "reply" ? note(bench, words, ask, endpoint, credential, said) : said;
    }
    const answer = await takeIn(keys.lost.has(key) ? withoutMagic(bench) : bench, words, ask, endpoint, credential);
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
