// S2: with links of our own in the requests, a submission whose answer was lost is still found by its input, and never sent twice.
import { expect, test } from "bun:test";
import { matchInput, unknownCopy } from "../../src/providers/list-match.ts";
import { openHarness } from "../harness.ts";

const link = (ref: string, n: number, exp = 1) => `https://us.example/inputs/${ref}/${n}?exp=${exp}&sig=${"s".repeat(43)}`;

for (const provider of ["fal", "replicate"])
  test(`S2: a lost submission to ${provider}, whose list shows inputs alone, is found by our link and delivers`, async () => {
    const harness = await openHarness({ factor: 1000, providers: [provider] });
    harness.simulator.script({ fault: "drop-after", times: 1 });
    const base = `${harness.simulator.url}/samples`;
    const input = { image_url: `${base}/picture.png?width=16&height=16`, audio_url: `${base}/voice.wav?seconds=2` };
    const made = await harness.submit("sim-lipsync-1", { prompt: "sing", ...input });
    const ended = await harness.until(made.id);
    expect(ended).toMatchObject({ status: "succeeded", attempts: 1, output: { duration_s: 2 } });
    expect(harness.simulator.submissions()).toHaveLength(1);
    expect(harness.simulator.jobs()[0]?.received).toMatchObject([{ kind: "audio", ms: 2000 }]);
    await harness.close();
  });

test.each([
  ["the same link", link("abc-1", 1), link("abc-1", 1), "equal"],
  ["a link for another attempt of the generation, made at another time", link("abc-1", 1), link("abc-2", 1, 9), "equal"],
  ["a link to another copy", link("abc-1", 1), link("abc-1", 2), "no"],
  ["a link of another generation", link("abc-1", 1), link("abd-1", 1), "no"],
  ["somebody's own link", link("abc-1", 1), "https://elsewhere.example/a.mp4", "no"],
  ["a link of ours, where it is not known what was given", unknownCopy("abc-1", 1), link("abc-7", 1), "equal"],
  ["anything else, where it is not known what was given", unknownCopy("abc-1", 1), "https://storage.example/x", "possible"],
  ["no text, where it is not known what was given", unknownCopy("abc-1", 1), null, "no"],
] as const)("S2: an input is held against one on a list: %s", (_, sent, listed, match) => {
  const input = (url: string | null) => ({ prompt: "x", video_urls: [url] });
  expect(matchInput({ prompt: "x", video_urls: [sent] }, input(listed))).toBe(match);
  expect(matchInput({ prompt: "y", video_urls: [sent] }, input(listed))).toBe("no");
});
