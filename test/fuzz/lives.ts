// Generates stateful cases: the life of one generation from submission to its files.
import fc from "fast-check";
import type { ModelEntry } from "../../catalogue/public-model.ts";
import type { Life } from "./case.ts";
import { draftOf, type Members, write } from "./inputs.ts";

/** Most succeed quickly; some fall back, are refused, or fail on every route. */
const WISHES = ["", "", "", "[sim:refuse]", "[sim:fal:fail]", "[sim:no-file]"] as const;
const LOOKS = ["poll", "content", "second", "stranger", "replay", "change", "link"] as const;

/** Lives of models with quickly generated results: pictures and speech. */
export const lives = (models: readonly ModelEntry[]): fc.Arbitrary<Life> => {
  const quick = models.filter(
    ({ kind, options }) => kind !== "video" && !Object.values(options).some((option) => option.max_items && option.required),
  );
  return fc
    .record({
      draft: draftOf(quick, WISHES),
      looks: fc.array(fc.constantFrom(...LOOKS), { minLength: 1, maxLength: 5 }),
      change: fc.constantFrom<Members>(
        [["max_cost_usd", "42"]],
        [["max_wait_s", "7201"]],
        [["unknown", "1"]],
        [["model", '"no-such-model"']],
      ),
    })
    .map(({ draft, looks, change }) => {
      const members: Members = [...draft.envelope, ["input", write(draft.input)]];
      const kept = members.filter(([name]) => !change.some(([changed]) => changed === name));
      return {
        kind: "life",
        body: write(members),
        rewritten: ` ${write(members.toReversed()).replaceAll("/", "\\/")}\n`,
        changed: write([...kept, ...change]),
        key: "life-{serial}",
        looks,
      };
    });
};
