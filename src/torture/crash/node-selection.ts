// Node selection of a client: round robin, with unresponsive nodes last.
import { type Answer, type AskedRequest, ask } from "./crash-fixture.ts";

/** A node that did not respond is skipped for this time, as long as another one exists. */
const AVOIDED_MS = 1000;

export type NodeSelection = {
  /** Sends one request to the next node. Undefined if no response arrived. */
  ask(key: string, about: Omit<AskedRequest, "patienceMs">): Promise<Answer | undefined>;
};

/** @param patienceMs the longest wait for a response; default as for a client of one node. */
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
