// Mutants of the webhook queues: which receivers may delay which others.
import type { Mutant } from "./mutant.ts";

const LANE = "actors/webhooks/lane.ts";
const SPEED = "actors/webhooks/receiver-speed.ts";
const SLOW = "a slow receiver delays no other account's deliveries";

export const RECEIVER_MUTANTS: readonly Mutant[] = [
  {
    name: "slow-among-prompt",
    breaks: "Slow and unknown receivers take the places of prompt receivers.",
    standsFor: SLOW,
    patches: [
      {
        file: LANE,
        find: "deps.takePlace(this.accountSeq, speed, deps.signal)",
        put: 'deps.takePlace(this.accountSeq, "prompt", deps.signal)',
      },
    ],
    killer: "slow-receivers",
  },
  {
    name: "speed-of-the-queue",
    breaks: "The speed of a receiver is forgotten when its queue has nothing to do.",
    standsFor: "four accounts with hanging receivers filled all places after every idle moment",
    patches: [
      {
        file: "actors/webhooks/lanes.ts",
        find: "new Lane(id, accountSeq, laneDeps)",
        put: "new Lane(id, accountSeq, { ...laneDeps, speeds: createReceiverSpeeds() })",
      },
    ],
    killer: "slow-receivers",
  },
  {
    name: "late-is-prompt",
    breaks: "A receiver that answers 200 after seconds counts as prompt.",
    standsFor: SLOW,
    patches: [{ file: LANE, find: "deps.speeds.note(id, !isLate && verdictOf", put: "deps.speeds.note(id, verdictOf" }],
    killer: "slow-receivers",
  },
  {
    name: "unknown-is-prompt",
    breaks: "A receiver that has never answered takes the places of prompt receivers.",
    standsFor: SLOW,
    patches: [{ file: SPEED, find: '?.speed ?? "unknown"', put: '?.speed ?? "prompt"' }],
    killer: "slow-receivers",
  },
  {
    name: "place-kept",
    breaks: "A late try keeps its place among prompt receivers until its end.",
    standsFor: "prompt receivers that begin to hang fill all places for ten seconds",
    patches: [{ file: LANE, find: "      place.giveToOthers();\n", put: "" }],
    killer: "changing-receivers",
  },
];
