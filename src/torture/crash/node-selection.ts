// Where a client knocks: the nodes by turns, those that gave no answer a moment ago last.
import { type Answer, ask } from "./crash-fixture.ts";

/** A node that gave no answer is passed over for so long, as long as there is another one. */
const AVOIDED_MS = 1000;

export type NodeSelection = {
  /** Asks the next node, once. Undefined when no answer came. */
  ask(key: string, about: { path: string; body?: string; idempotencyKey?: string }): Promise<Answer | undefined>;
};

/** @param patienceMs so long an answer is waited for; absent: as long as a client of one node does. */
export const createNodeSelection = (urls: readonly string[], patienceMs?: number): NodeSelection => {
  const avoidedUntilMono = new Map<string, number>();
  let turn = 0;
  const next = (): string => {
    const nowMono = performance.now();
    for (let tries = 0; tries < urls.length; tries += 1) {
      const url = urls[turn++ % urls.length] ?? "";
      if ((avoidedUntilMono.get(url) ?? 0) <= nowMono) return url;
    }
    return urls[turn++ % urls.length] ?? "";
  };
  return {
    ask: async (key, about) => {
      const url = next();
      const answer = await ask(url, key, { ...about, ...(patienceMs === undefined ? {} : { patienceMs }) });
      if (answer) avoidedUntilMono.delete(url);
      else avoidedUntilMono.set(url, performance.now() + AVOIDED_MS);
      return answer;
    },
  };
};
