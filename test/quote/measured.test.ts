// Measured lengths against clip limits with a tolerance of 0.1 s: both sides of 4 s, 30 s and 30 s in total (§2.6, §8).
import { describe, expect, test } from "bun:test";
import type { Measured } from "../../src/domain/types.ts";
import { checkMeasured } from "../../src/quote/check-input.ts";
import { answerOf, check, lengthsFor, shipped } from "./inputs.ts";

const clip = (n: number) => `https://media.example/${n}.mp4`;
const answer = (modelId: string, input: Record<string, unknown>, lengthsMs: number[]) => {
  const model = shipped(modelId);
  const checked = check(model, { prompt: "a fox", ...input });
  return answerOf(() => checkMeasured(model, checked, lengthsFor(checked, lengthsMs)));
};

describe("clip length limits:", () => {
  const ten = Array.from({ length: 10 }, (_, n) => clip(n));
  const rows: [modelId: string, input: Record<string, unknown>, lengthsMs: number[], answer: string][] = [
    ["vidmodel-2.5", { video_url: clip(1) }, [3_899], "input.video_url: is 3.899 s long; it must be 4 to 30 s"],
    ["vidmodel-2.5", { video_url: clip(1) }, [3_900], "accepted"],
    ["vidmodel-2.5", { video_url: clip(1) }, [30_100], "accepted"],
    ["vidmodel-2.5", { video_url: clip(1) }, [30_101], "input.video_url: is 30.101 s long; it must be 4 to 30 s"],
    ["vidmodel-2.5", { video_urls: [clip(1)] }, [30_100], "accepted"],
    ["vidmodel-2.5", { video_urls: [clip(1)] }, [30_101], "input.video_urls: is 30.101 s long in all; at most 30 s"],
    ["vidmodel-2.5", { video_urls: [clip(1)] }, [500], "accepted"],
    ["vidmodel-2.5", { video_urls: ten }, [3_010], "accepted"],
    ["vidmodel-2.5", { video_urls: ten }, [3_011], "input.video_urls: is 30.11 s long in all; at most 30 s"],
    ["vidmodel-2.5", { audio_urls: [clip(1), clip(2)] }, [29_000, 1_100], "accepted"],
    [
      "vidmodel-2.5",
      { audio_urls: [clip(1), clip(2)] },
      [29_000, 1_101],
      "input.audio_urls: is 30.101 s long in all; at most 30 s",
    ],
    ["vidmodel-2.5", { video_urls: [clip(1)], audio_urls: [clip(2)] }, [30_000, 30_000], "accepted"],
    ["vidmodel-2.5", { video_url: clip(1), video_urls: [clip(2)] }, [30_000, 30_000], "accepted"],
    ["vidmodel-2.0", { video_url: clip(1) }, [3_600_000], "accepted"],
    ["sim-lipsync-1", { image_url: clip(1), audio_url: clip(2) }, [0, 300_100], "accepted"],
    [
      "sim-lipsync-1",
      { image_url: clip(1), audio_url: clip(2) },
      [0, 300_101],
      "input.audio_url: is 300.101 s long; it must be at most 300 s",
    ],
  ];
  test.each(rows)("%s %j of %j ms → %s", (modelId, input, lengthsMs, said) => {
    expect(answer(modelId, input, lengthsMs)).toBe(said === "accepted" ? said : `invalid_input ${said}`);
  });
});

describe("rejects an unmeasured clip whose length is limited or billed:", () => {
  const rows: [modelId: string, input: Record<string, unknown>, field: string][] = [
    ["vidmodel-2.5", { video_url: clip(1) }, "input.video_url"],
    ["vidmodel-2.5", { video_urls: [clip(1), clip(2)] }, "input.video_urls[1]"],
    ["vidmodel-2.5", { audio_urls: [clip(1)] }, "input.audio_urls[0]"],
    ["vidmodel-2.0", { video_url: clip(1) }, "input.video_url"],
    ["sim-lipsync-1", { image_url: clip(1), audio_url: clip(2) }, "input.audio_url"],
  ];
  test.each(rows)("%s %j", (modelId, input, field) => {
    const model = shipped(modelId);
    const checked = check(model, { prompt: "a fox", ...input });
    const whole = lengthsFor(checked, [5_000]);
    expect(answerOf(() => checkMeasured(model, checked, whole))).toBe("accepted");
    const said = `invalid_input ${field}: its length cannot be measured`;
    const without = (change: (one: Measured) => Measured[]) =>
      whole.flatMap((one) => (one.field === field ? change(one) : [one]));
    for (const measured of [without(() => []), without(({ ms: _, ...one }) => [one]), without((one) => [{ ...one, ms: 0 }])])
      expect(answerOf(() => checkMeasured(model, checked, measured))).toBe(said);
  });
  test("accepts images, which have no length", () => {
    expect(answer("vidmodel-2.0", { image_urls: [clip(1)] }, [])).toBe("accepted");
  });
});
