// Load of the bombs: attackers and honest accounts that send requests at a rate, and counts of the responses.

import { BOMBS, type Throw } from "./all.ts";
import type { Bomb } from "./bomb.ts";
import type { Account, Place } from "./fixture.ts";
import { pathOf } from "./server.ts";

const PATIENCE_MS = 45_000;
const LOOK_MS = 500;

/** Counts of responses by status; 0 for none. */
export type Answers = Record<string, number>;
const count = (into: Answers, status: number): void => {
  into[status] = (into[status] ?? 0) + 1;
};

export type Answer = { status: number; body: string };
export const post = async (url: string, { key }: Account, body: object): Promise<Answer> => {
  try {
    const answer = await fetch(`${url}/v1/generations`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return { status: answer.status, body: await answer.text() };
  } catch (fault) {
    return { status: 0, body: String(fault) };
  }
};

const FIELDS: Record<Bomb["field"], string> = { image: "image_urls", video: "video_urls", audio: "audio_urls" };
const fieldOf = ({ index }: Throw): string => FIELDS[BOMBS[index]?.field ?? "video"];

/** A submission with a bomb as its media. */
export const withBomb = ({ bombs }: Place, one: Throw, n: number): object => ({
  model: "vidmodel-2.5",
  input: { prompt: "a kite", resolution: "480p", duration: 4, [fieldOf(one)]: [`${bombs}${pathOf(one, n)}`] },
});

const ORDERS: Record<Bomb["field"], (prompt: string) => object> = {
  image: (prompt) => ({ model: "flux-2-dev", input: { prompt } }),
  video: (prompt) => ({ model: "vidmodel-2.0-fast", input: { prompt, resolution: "480p", duration: 4 } }),
  audio: (prompt) => ({ model: "kokoro-82m", input: { prompt } }),
};
/** A submission for which the provider delivers a bomb, after the rule for it is set. */
export const deliveringBomb = async ({ bombs, simulator }: Place, one: Throw, n: number): Promise<object> => {
  const prompt = `bomb-${n}-`;
  const rule = { fault: "elsewhere", url: `${bombs}${pathOf(one, n)}`, prompt };
  const reported = await fetch(`${simulator}/script`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(rule),
  });
  if (!reported.ok) throw new Error(`the simulator takes no rule: ${reported.status} ${await reported.text()}`);
  return ORDERS[BOMBS[one.index]?.field ?? "video"](prompt);
};

/** Calls `act` at a rate until the time is over, without waiting for it. @returns after all calls have ended. */
export const atRate = async (rate: number, untilMs: number, act: (n: number) => Promise<void>): Promise<void> => {
  const begunMs = performance.now();
  const doing: Promise<void>[] = [];
  for (let n = 0; performance.now() < untilMs; n += 1) {
    doing.push(act(n));
    await Bun.sleep(Math.max(0, begunMs + ((n + 1) * 1000) / rate - performance.now()));
  }
  await Promise.all(doing);
};

export type Thrown = { answers: Answers; thrown: number };
/** Throws bombs at the nodes in turn, from the accounts in turn. */
export const throwBombs = async (
  place: Place,
  by: readonly Account[],
  plan: { rate: number; untilMs: number; throws: Iterator<Throw, never> },
  make: (place: Place, one: Throw, n: number) => object | Promise<object>,
): Promise<Thrown> => {
  const answers: Answers = {};
  let thrown = 0;
  await atRate(plan.rate, plan.untilMs, async (n) => {
    const body = await make(place, plan.throws.next().value, n);
    thrown += 1;
    const [node, account] = [place.nodes[n % place.nodes.length], by[n % by.length]];
    if (node && account) count(answers, (await post(node.url, account, body)).status);
  });
  return { answers, thrown };
};

const honestOf = ({ samples }: Place): object[] => [
  {
    model: "vidmodel-2.5",
    input: {
      prompt: "a picture",
      resolution: "480p",
      duration: 4,
      image_url: `${samples}/picture.png?width=640&height=480`,
    },
  },
  {
    model: "vidmodel-2.5",
    input: { prompt: "a clip", resolution: "480p", video_url: `${samples}/clip-4s.mp4?width=640&height=360` },
  },
  {
    model: "vidmodel-2.5",
    input: { prompt: "a sound", resolution: "480p", duration: 4, audio_urls: [`${samples}/voice-5s.mp3`] },
  },
  { model: "flux-2-dev", input: { prompt: "a picture of nothing" } },
];

export type Honest = { answers: Answers; refused: string[]; ids: string[]; slowestMs: number };
/** Submits honest work meanwhile: pictures, clips and sound in turn. */
export const workHonestly = async (place: Place, untilMs: number, everyMs = 1500): Promise<Honest> => {
  const reported: Honest = { answers: {}, refused: [], ids: [], slowestMs: 0 };
  const bodies = honestOf(place);
  await atRate(1000 / everyMs, untilMs, async (n) => {
    const node = place.nodes[n % place.nodes.length];
    if (!node) return;
    const atMs = performance.now();
    const { status, body } = await post(node.url, place.honest, bodies[n % bodies.length] ?? {});
    reported.slowestMs = Math.max(reported.slowestMs, performance.now() - atMs);
    count(reported.answers, status);
    if (status === 202) reported.ids.push((JSON.parse(body) as { id: string }).id);
    // A 429 is the account's concurrency limit.
    else if (status !== 429) reported.refused.push(`${status} ${body.slice(0, 200)}`);
  });
  return reported;
};

/** Waits for generations. @returns the number of successes, and descriptions of the others. */
export const endsOf = async (
  { nodes }: Place,
  { key }: Account,
  ids: readonly string[],
  patienceMs: number,
): Promise<{ succeeded: number; others: string[] }> => {
  const endMs = performance.now() + patienceMs;
  const one = async (id: string, n: number): Promise<string> => {
    const url = nodes[n % nodes.length]?.url ?? "";
    for (;;) {
      const shown = (await fetch(`${url}/v1/generations/${id}`, {
        headers: { authorization: `Bearer ${key}` },
        signal: AbortSignal.timeout(LOOK_MS * 10),
      })
        .then((answer) => answer.json())
        .catch(() => ({ status: "unanswered" }))) as { status: string; error?: { code: string } | null };
      if (shown.status === "succeeded") return "succeeded";
      if (shown.status === "failed") return `${id} failed: ${shown.error?.code}`;
      if (performance.now() > endMs) return `${id} is ${shown.status}`;
      await Bun.sleep(LOOK_MS);
    }
  };
  const ends = await Promise.all(ids.map(one));
  return {
    succeeded: ends.filter((end) => end === "succeeded").length,
    others: ends.filter((end) => end !== "succeeded"),
  };
};
