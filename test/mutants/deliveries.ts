// Mutants of the delivery check before the charge, and of mismatched attempts.
import type { Mutant } from "./mutant.ts";

const ORDERED = "src/domain/delivery-check.ts";
const QUOTED = "src/quote/expected-delivery.ts";
const COLLECTING = "src/effects/collect.ts";
const RULES = "actors/generation/guards.ts";
const ACTIONS = "actors/generation/actions.ts";
const CHARGED_WRONG = "a route that delivered something else was charged in full";
const HELD = "the delivery check rejects at most one in a thousand correct results";

export const DELIVERY_MUTANTS: readonly Mutant[] = [
  {
    name: "delivery-not-judged",
    breaks: "Every readable result is charged for without a delivery check.",
    standsFor: CHARGED_WRONG,
    patches: [{ file: ORDERED, find: "  if (!ordered) return {};", put: "  if (ordered !== undefined) return {};" }],
    killer: "simulation",
  },
  {
    name: "order-not-frozen",
    breaks: "The order is not stored with the generation, so the delivery check has nothing to compare.",
    standsFor: CHARGED_WRONG,
    patches: [{ file: "src/store/sqlite/admit-generation.ts", find: "      mutation.orderedJson,\n", put: "      null,\n" }],
    killer: "simulation",
  },
  {
    name: "short-is-enough",
    breaks: "The delivery check accepts a clip of any length.",
    standsFor: CHARGED_WRONG,
    patches: [{ file: ORDERED, find: "durationMs >= leastMs) return undefined;", put: "durationMs >= 0) return undefined;" }],
    killer: "simulation",
    seed: 74,
  },
  {
    name: "exactly-as-long",
    breaks: "The delivery check rejects a clip that is one frame shorter than ordered.",
    standsFor: HELD,
    patches: [
      { file: QUOTED, find: "const leastMs = Math.max(1, Math.floor(", put: "const leastMs = ms + 0 * Math.max(1, Math.floor(" },
    ],
    killer: "deliveries",
  },
  {
    name: "longer-is-wrong",
    breaks: "The delivery check rejects a clip that is longer than ordered.",
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
    breaks: "The delivery check accepts a video of any resolution.",
    standsFor: CHARGED_WRONG,
    patches: [{ file: ORDERED, find: "  if (isBelowClass) return", put: "  if (isBelowClass && side < 0) return" }],
    killer: "simulation",
    seed: 60,
  },
  {
    name: "class-by-pixels-alone",
    breaks: "The delivery check rejects a square clip with the sides of its resolution class.",
    standsFor: HELD,
    patches: [{ file: ORDERED, find: "pixels < leastPixels && side < leastSide;", put: "pixels < leastPixels;" }],
    killer: "deliveries",
  },
  {
    name: "own-size-not-asked",
    breaks: "The delivery check accepts a picture below the size in its model file.",
    standsFor: CHARGED_WRONG,
    patches: [
      { file: ORDERED, find: "ownPixels !== undefined && pixels < ownPixels", put: "ownPixels !== undefined && pixels < 0" },
    ],
    killer: "simulation",
  },
  {
    name: "shape-not-asked",
    breaks: "The delivery check accepts a clip with swapped sides.",
    standsFor: CHARGED_WRONG,
    patches: [{ file: ORDERED, find: "return off <= aspectOff + 1e-9 ?", put: "return off <= aspectOff + 1e9 ?" }],
    killer: "deliveries",
  },
  {
    name: "shape-of-a-default",
    breaks: "The delivery check compares the aspect ratio although none was ordered.",
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
    breaks: "The delivery check rejects a clip with the aspect ratio of its first frame.",
    standsFor: HELD,
    patches: [{ file: QUOTED, find: "if (SHAPING.some(", put: "if (SHAPING.every(" }],
    killer: "deliveries",
  },
  {
    name: "silence-is-sound",
    breaks: "The delivery check accepts a silent clip when sound was ordered.",
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
    breaks: "The delivery check accepts a picture when a clip was ordered.",
    standsFor: CHARGED_WRONG,
    patches: [{ file: ORDERED, find: "  if (!answers(", put: "  if (file.bytes < 0 && !answers(" }],
    killer: "simulation",
  },
  {
    name: "set-not-complete",
    breaks: "A part of the files is charged like all files, although the model requires all.",
    standsFor: CHARGED_WRONG,
    patches: [
      { file: ORDERED, find: "(ordered.allFiles && files.length < promised)", put: "(ordered.allFiles && files.length < 1)" },
    ],
    killer: "deliveries",
  },
  {
    name: "fewer-is-nothing",
    breaks: "The delivery check rejects one delivered picture of two, although the model allows fewer.",
    standsFor: "fewer files than promised are delivered and reported",
    patches: [{ file: ORDERED, find: "(ordered.allFiles && files.length < promised)", put: "files.length < promised" }],
    killer: "deliveries",
  },
  {
    name: "edit-of-any-length",
    breaks: "The delivery check accepts an edit of any length.",
    standsFor: "the billed clip is not the delivered clip",
    patches: [{ file: QUOTED, find: "  if (output) return lengthOf(output);\n", put: "  if (output) return undefined;\n" }],
    killer: "deliveries",
  },
  {
    name: "page-is-no-mismatch",
    breaks: "An HTML page in place of a file counts as an ordinary failure, not as a mismatch.",
    standsFor: "no usable file is a mismatch",
    patches: [{ file: COLLECTING, find: "if (unread?.isUnusable &&", put: "if (unread?.isOurs &&" }],
    killer: "deliveries",
  },
  {
    name: "mismatch-ends-all",
    breaks: "After the first mismatch the service tries no other route.",
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
    breaks: "The service tries every route, however few mismatches the operator allows.",
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
    breaks: "A mismatched attempt ends as failed, so it is not listed as an orphan.",
    standsFor: "a mismatch is listed in orphans",
    patches: [
      { file: "actors/generation/machine.ts", find: 'act.closeAttempt("mismatched")', put: 'act.closeAttempt("failed")' },
    ],
    killer: "simulation",
  },
  {
    name: "mismatch-not-listed",
    breaks: "A mismatched attempt is not listed as an orphan.",
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
    breaks: "The service still watches an attempt that was given up and then mismatched.",
    standsFor: "the delivery check also covers late and watched results",
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
