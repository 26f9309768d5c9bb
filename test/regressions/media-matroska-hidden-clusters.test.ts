// The length of a Matroska file is what a decoder plays; it resumes at the next cluster after broken elements.
import { expect, onTestFinished, test } from "bun:test";
import { makeClip } from "../../src/simulator/clip.ts";
import { openHarness } from "../harness.ts";
import { answerBytes, openTwoFaced } from "./two-faced.ts";

const CLUSTER = Buffer.of(0x1f, 0x43, 0xb6, 0x75);
const clip = Buffer.from(await makeClip({ width: 64, height: 36 }, 12_000, false, 1, "mkv"));
const clusters: number[] = [];
for (let at = clip.indexOf(CLUSTER); at >= 0; at = clip.indexOf(CLUSTER, at + 1)) clusters.push(at);
/** Offset of the second cluster; the first one lasts some seconds. */
const [first = 0, second = 0] = clusters;

const sizeOf = (bytes: number) => Buffer.of(0x10 | (bytes >>> 24), (bytes >>> 16) & 255, (bytes >>> 8) & 255, bytes & 255);
const withBytes = (at: number, ...bytes: number[]) =>
  Buffer.concat([clip.subarray(0, at), Buffer.from(bytes), clip.subarray(at)]);
/** Wraps everything from the second cluster on in one element. */
const inside = (...id: number[]) => withBytes(second, ...id, ...sizeOf(clip.length - second));
/** Wraps the rest in a block and gives the first cluster an unknown size. */
const behindOpenCluster = () => {
  const file = inside(0xa3);
  const bytes = Math.clz32(file[first + 4] ?? 0) - 23;
  return Buffer.concat([
    file.subarray(0, first + 4),
    Buffer.of((0x100 >> (bytes - 1)) - 1, ...Array<number>(bytes - 1).fill(0xff)),
    file.subarray(first + 4 + bytes),
  ]);
};

/** Files of which ffmpeg plays all 12 s. */
const HIDDEN: [what: string, file: Buffer][] = [
  ["after a garbage byte", withBytes(second, 1)],
  ["after zero bytes", withBytes(second, 0, 0, 0)],
  ["in a Void element", inside(0xec)],
  ["in an element with an unknown id", inside(0x42, 0xab)],
  ["in a checksum element", inside(0xbf)],
  ["in a block outside of any cluster", inside(0xa3)],
  ["in a block of a cluster with unknown size", behindOpenCluster()],
  ["after a second Info element", withBytes(second, 0x15, 0x49, 0xa9, 0x66, 0x87, 0x2a, 0xd7, 0xb1, 0x83, 0x01, 0x86, 0xa0)],
];

test("prices a Matroska clip by every cluster that a decoder finds, including hidden ones", async () => {
  expect(clusters.length).toBeGreaterThan(1);
  const server = openTwoFaced((request, { path }) =>
    answerBytes(request, HIDDEN[Number(path.slice(1))]?.[1] ?? clip, "video/x-matroska", !path.startsWith("/whole")),
  );
  onTestFinished(() => server.stop());
  const harness = await openHarness({ env: { GENROUTER_MEDIA__ALLOW: server.host } });
  onTestFinished(() => harness.close());
  const quote = async (path: string) =>
    (await harness.submit("vidmodel-2.5", { prompt: "an edit", resolution: "480p", video_url: `${server.url}/${path}` }))
      .quoted_usd;
  const honest = await quote("whole");
  const quotes: [string, number][] = [];
  for (const [at, [what]] of HIDDEN.entries()) quotes.push([what, await quote(String(at))]);
  expect(quotes).toEqual(HIDDEN.map(([what]) => [what, honest]));
});
