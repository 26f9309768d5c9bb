// Mutants of deliveries: what is held against an order before the charge, and what becomes of an attempt that delivered something else.
import type { Mutant } from "./mutant.ts";

const ORDERED = "src/domain/delivery-check.ts";
const QUOTED = "src/quote/expected-delivery.ts";
const COLLECTING = "src/effects/collect.ts";
const RULES = "actors/generation/guards.ts";
const ACTIONS = "actors/generation/actions.ts";
const CHARGED_WRONG = "a route that delivered something else was charged in full";
const HELD = "of right deliveries at most one in a thousand is held back";

export const DELIVERY_MUTANTS: readonly Mutant[] = [
  {
    name: "delivery-not-judged",
    breaks: "Whatever comes is charged for, as long as it is whole.",
    standsFor: CHARGED_WRONG,
    patches: [{ file: ORDERED, find: "  if (!ordered) return {};", put: "  if (ordered !== undefined) return {};" }],
    killer: "simulation",
  },
  {
    name: "order-not-frozen",
    breaks: "What is ordered is not kept with the generation, so that nothing can be held against it.",
    standsFor: CHARGED_WRONG,
    patches: [{ file: "src/store/sqlite/admit-generation.ts", find: "      mutation.orderedJson,\n", put: "      null,\n" }],
    killer: "simulation",
  },
  {
    name: "short-is-enough",
    breaks: "A clip of any length is as long as it was ordered.",
    standsFor: CHARGED_WRONG,
    patches: [{ file: ORDERED, find: "durationMs >= leastMs) return undefined;", put: "durationMs >= 0) return undefined;" }],
    killer: "simulation",
    seed: 74,
  },
  {
    name: "exactly-as-long",
    breaks: "A clip that is a frame shorter than it was ordered is not taken.",
    standsFor: HELD,
    patches: [
      { file: QUOTED, find: "const leastMs = Math.max(1, Math.floor(", put: "const leastMs = ms + 0 * Math.max(1, Math.floor(" },
    ],
    killer: "deliveries",
  },
  {
    name: "longer-is-wrong",
    breaks: "A clip that is longer than it was ordered is not taken.",
    standsFor: HELD,
    patches: [
      {
        file: ORDERED,
        find: "durationMs >= leastMs) return undefined;",
        put: "(durationMs >= leastMs && durationMs <= (ms ?? 0) + 100)) return undefined;",
      },
    ],
    killer: "deliveries",
  },
  {
    name: "class-not-asked",
    breaks: "A video of any size is of the class that was ordered.",
    standsFor: CHARGED_WRONG,
    patches: [{ file: ORDERED, find: "  if (isBelowClass) return", put: "  if (isBelowClass && side < 0) return" }],
    killer: "simulation",
    seed: 60,
  },
  {
    name: "class-by-pixels-alone",
    breaks: "A square clip whose sides are those of its class has too few pixels.",
    standsFor: HELD,
    patches: [{ file: ORDERED, find: "pixels < leastPixels && side < leastSide;", put: "pixels < leastPixels;" }],
    killer: "deliveries",
  },
  {
    name: "own-size-not-asked",
    breaks: "A picture below the size that its model file states is taken.",
    standsFor: CHARGED_WRONG,
    patches: [
      { file: ORDERED, find: "ownPixels !== undefined && pixels < ownPixels", put: "ownPixels !== undefined && pixels < 0" },
    ],
    killer: "simulation",
  },
  {
    name: "shape-not-asked",
    breaks: "A clip on its side has the shape that was asked for.",
    standsFor: CHARGED_WRONG,
    patches: [{ file: ORDERED, find: "return off <= aspectOff + 1e-9 ?", put: "return off <= aspectOff + 1e9 ?" }],
    killer: "deliveries",
  },
  {
    name: "shape-of-a-default",
    breaks: "A shape that nobody asked for is held against what came.",
    standsFor: HELD,
    patches: [
      {
        file: QUOTED,
        find: "{ raw }: CheckedInput): Partial<Ordered> => {\n  const { aspect_ratio: requested } = raw;",
        put: "{ raw, filled }: CheckedInput): Partial<Ordered> => {\n  const { aspect_ratio: requested } = filled;",
      },
    ],
    killer: "deliveries",
  },
  {
    name: "shape-of-a-frame",
    breaks: "A clip that has the shape of its first frame has not the one that was asked for.",
    standsFor: HELD,
    patches: [{ file: QUOTED, find: "if (SHAPING.some(", put: "if (SHAPING.every(" }],
    killer: "deliveries",
  },
  {
    name: "silence-is-sound",
    breaks: "A silent clip is taken where sound was ordered.",
    standsFor: CHARGED_WRONG,
    patches: [
      {
        file: ORDERED,
        find: "ordered.sound === true && facts.hasAudio === false",
        put: "ordered.sound === true && facts.hasAudio === undefined",
      },
    ],
    killer: "simulation",
  },
  {
    name: "any-kind",
    breaks: "A picture is taken where a clip was ordered.",
    standsFor: CHARGED_WRONG,
    patches: [{ file: ORDERED, find: "  if (!answers(", put: "  if (file.bytes < 0 && !answers(" }],
    killer: "simulation",
  },
  {
    name: "set-not-complete",
    breaks: "Of a model that promises all of its files some are charged for like all.",
    standsFor: CHARGED_WRONG,
    patches: [
      { file: ORDERED, find: "(ordered.allFiles && files.length < promised)", put: "(ordered.allFiles && files.length < 1)" },
    ],
    killer: "deliveries",
  },
  {
    name: "fewer-is-nothing",
    breaks: "One of two pictures is thrown away although it was paid for.",
    standsFor: "fewer files than promised are delivered, and told",
    patches: [{ file: ORDERED, find: "(ordered.allFiles && files.length < promised)", put: "files.length < promised" }],
    killer: "deliveries",
  },
  {
    name: "edit-of-any-length",
    breaks: "An edit need not be as long as the clip that was billed.",
    standsFor: "the clip that is billed is not the clip that comes back",
    patches: [{ file: QUOTED, find: "  if (output) return lengthOf(output);\n", put: "  if (output) return undefined;\n" }],
    killer: "deliveries",
  },
  {
    name: "page-is-no-mismatch",
    breaks: "A page in place of a file is a failure like any other, not something else than what was ordered.",
    standsFor: "no usable file is a mismatch",
    patches: [{ file: COLLECTING, find: "if (unread?.isUnusable &&", put: "if (unread?.isOurs &&" }],
    killer: "deliveries",
  },
  {
    name: "mismatch-ends-all",
    breaks: "After the first mismatch no other route is tried.",
    standsFor: "a mismatch: next route",
    patches: [
      {
        file: RULES,
        find: "event.atMost !== undefined && mismatchedWith(context, event.n).length >= event.atMost",
        put: "mismatchedWith(context, event.n).length >= 1",
      },
    ],
    killer: "deliveries",
  },
  {
    name: "max-mismatched-not-heard",
    breaks: "However few mismatches the operator allows, every route is tried.",
    standsFor: "routing.max_mismatched",
    patches: [
      {
        file: RULES,
        find: "mismatchedWith(context, event.n).length >= event.atMost",
        put: "mismatchedWith(context, event.n).length >= 99",
      },
    ],
    killer: "machine",
  },
  {
    name: "mismatch-is-a-failure",
    breaks: "An attempt that delivered something else ends as failed: what was paid for nothing is on no list.",
    standsFor: "a mismatch is listed in orphans",
    patches: [
      { file: "actors/generation/machine.ts", find: 'act.closeAttempt("mismatched")', put: 'act.closeAttempt("failed")' },
    ],
    killer: "simulation",
  },
  {
    name: "mismatch-not-listed",
    breaks: "What was paid for something else than what was ordered is on no list.",
    standsFor: "a mismatch is listed in orphans",
    patches: [
      {
        file: "src/store/sql/queries/orphans.ts",
        find: "       a.state IN ('late', 'mismatched')",
        put: "       a.state IN ('late')",
      },
    ],
    killer: "simulation",
  },
  {
    name: "late-mismatch-watched",
    breaks: "An attempt that was given up and then delivered something else is still asked about.",
    standsFor: "late and watched arrivals are held against the order too",
    patches: [
      {
        file: ACTIONS,
        find: '...{ n: event.n, state: "mismatched", watchUntilMs: null, endedAtMs: event.atMs },',
        put: '...{ n: event.n, state: "mismatched", endedAtMs: event.atMs },',
      },
    ],
    killer: "machine",
  },
];
