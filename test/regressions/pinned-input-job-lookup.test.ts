// With our own links in requests, a lost submission is found by its input and sent once.
import { expect, test } from "bun:test";
import { matchInput, unknownCopy } from "../../src/providers/list-match.ts";
import { openHarness } from "../harness.ts";

const link = (ref: string, n: number, exp = 1) => `https://us.example/inputs/${ref}/${n}?exp=${exp}&sig=${"s".repeat(43)}`;

for (const provider of ["fal", "replicate"])
  test(`finds a lost submission to ${provider} by the link in the listed input and delivers its result`, async () => {
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
  ["a link for another attempt of the generation with another expiry", link("abc-1", 1), link("abc-2", 1, 9), "equal"],
  ["a link to another copy", link("abc-1", 1), link("abc-1", 2), "no"],
  ["a link of another generation", link("abc-1", 1), link("abd-1", 1), "no"],
  ["a foreign link", link("abc-1", 1), "https://elsewhere.example/a.mp4", "no"],
  ["one of our links, if the copy is unknown", unknownCopy("abc-1", 1), link("abc-7", 1), "equal"],
  ["any other link, if the copy is unknown", unknownCopy("abc-1", 1), "https://storage.example/x", "possible"],
  ["null, if the copy is unknown", unknownCopy("abc-1", 1), null, "no"],
] as const)("matchInput compares a sent input with a listed one: %s", (_, sent, listed, match) => {
  const input = (url: string | null) => ({ prompt: "x", video_urls: [url] });
  expect(matchInput({ prompt: "x", video_urls: [sent] }, input(listed))).toBe(match);
  expect(matchInput({ prompt: "y", video_urls: [sent] }, input(listed))).toBe("no");
});
