// Provider fault plan: the simulator's fault rules besides the kills.

import type { JsonObject } from "../../domain/types.ts";
import type { Rule } from "../../simulator/fault-script.ts";
import type { FaultName } from "../../simulator/faults.ts";
import { AT_ONCE, LISTING } from "./catalogue.ts";

/** Slow responses first, because they keep attempts in `sending` during a kill. */
const SHARES: readonly (readonly [FaultName, number, JsonObject?])[] = [
  ["slow-answer", 0.2, { ms: 150 }],
  ["slow-answer", 0.06, { ms: 700 }],
  ["drop-after", 0.03],
  ["drop", 0.02],
  ["5xx-after", 0.02],
  ["5xx", 0.02],
  ["429", 0.04, { retry_after_s: 1 }],
  ["rubbish", 0.02],
  ["no-id", 0.01],
  ["cut", 0.02],
  ["fail-later", 0.05],
  ["fail", 0.01],
  ["refuse", 0.01],
  ["slow", 0.15, { factor: 8 }],
  ["poll-5xx", 0.03],
  ["poll-drop", 0.03],
  ["poll-rubbish", 0.02],
  ["early-done", 0.02],
  ["forget", 0.01],
  ["missing", 0.01],
  ["truncated", 0.01],
  ["file-5xx", 0.02],
  ["list-5xx", 0.1],
];

/** Longer than the time of an impatient route, and shorter than the time that proves a job absent. */
const LATE_MS = 1400;

export const PROVIDER_FAULT_PLAN: readonly Rule[] = [
  { fault: "late-ms", endpoint: "/mini/", probability: 0.08, ms: LATE_MS },
  { fault: "drop", endpoint: "/mini/", probability: 0.12 },
  { fault: "slow-answer", provider: AT_ONCE, probability: 0.3, ms: 700 },
  ...LISTING.flatMap((provider) => SHARES.map(([fault, probability, more]): Rule => ({ fault, provider, probability, ...more }))),
];
