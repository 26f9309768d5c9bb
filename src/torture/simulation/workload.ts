// Workload of a simulated world: few credits, few places, repeated keys, changed bodies.
import type { Catalogue } from "../../../catalogue/load.ts";
import type { PlannedRequest } from "./clients.ts";
import { drawClip } from "./clips.ts";
import type { Faults } from "./faults.ts";
import type { Rng } from "./rng.ts";
import { LIMITED_END_USER } from "./seed-database.ts";

/** A planned request and the start of its senders; several send the same at nearly the same time. */
export type PlannedWork = { planned: PlannedRequest; atMs: number; senders: number };

const MINUTE_MS = 60_000;

/** @param most the largest number of requests. */
export const drawWorkload = (
  dice: Rng,
  catalogue: Catalogue,
  faults: Faults,
  most = Number.POSITIVE_INFINITY,
): { credits: number[]; tasks: PlannedWork[]; spanMs: number } => {
  const clips = dice.fork("clips");
  const endUsers = dice.fork("end users");
  const credits = Array.from({ length: dice.whole(1, 3) }, () => (dice.chance(0.3) ? dice.whole(1, 80) : 5_000));
  const spanMs = dice.between(1, 25) * MINUTE_MS;
  const count = Math.min(most, dice.whole(2, dice.pick([4, 8, 16])));
  const tasks: PlannedWork[] = [];
  for (let at = 1; at <= count; at += 1) {
    const planned: PlannedRequest = {
      name: `w${at}`,
      account: dice.whole(0, credits.length - 1),
      key: dice.chance(0.8) ? `k${at}` : null,
      model: dice.pick(catalogue.models).id,
      prompt: dice.chance(faults.sameInput) ? "the same" : `picture ${at}`,
      maxCostCredits: dice.chance(0.2) ? dice.whole(1, 60) : 10_000,
      maxWaitMs: dice.chance(0.4) ? dice.whole(5, 1_200) * 1000 : null,
      clip: null,
      endUser: endUsers.chance(0.5) ? endUsers.pick(["free", LIMITED_END_USER]) : null,
    };
    // Requests with equal inputs have no clip, because a list distinguishes them by their prompts.
    if (planned.prompt !== "the same" && clips.chance(0.3))
      planned.clip = drawClip(clips, planned.name, faults, planned.maxWaitMs !== null);
    const atMs = dice.between(0, spanMs);
    tasks.push({ planned, atMs, senders: dice.chance(0.2) ? dice.whole(2, 4) : 1 });
    // The same key with another body: a conflict, or the first to arrive creates the generation.
    if (planned.key !== null && dice.chance(0.1))
      tasks.push({
        planned: { ...planned, name: `w${at}b`, prompt: `another ${at}` },
        atMs: atMs + dice.between(-2_000, 60_000),
        senders: 1,
      });
  }
  return { credits, tasks, spanMs };
};
