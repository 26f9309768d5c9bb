// Trials of media: wrong charges, discarded results and wrong measurements.
import { jpeg, mp4, noted, png } from "../media/made.ts";
import { GIF, joinedMp3, largePng, longAdts, offsetClip, recordedWebm, streamedWav } from "./files.ts";
import { gzipped, type RouteLine, ranged, type Seen, type Shown, type Trial, type World, whole } from "./trial.ts";

const reported = ({ status, cost_usd, attempts, output, error }: Shown): string =>
  `${status}, charged ${cost_usd}, ${attempts} attempt${attempts === 1 ? "" : "s"}${output ? `, ${output.urls.length} file${output.urls.length === 1 ? "" : "s"}${output.width ? ` of ${output.width}×${output.height}` : ""}${output.duration_s ? `, ${output.duration_s} s` : ""}` : ""}${error ? `, ${error.code}` : ""}`;
const PICTURE = { model: "flux-2-dev" };
const SOUND = { model: "kokoro-82m" };
const CLIP = { model: "vidmodel-2.0-fast" };
const forPicture = (prompt: string) => ({ ...PICTURE, input: { prompt } });
const forSound = (prompt: string) => ({ ...SOUND, input: { prompt } });
const forClip = (prompt: string) => ({ ...CLIP, input: { prompt, resolution: "480p", duration: 5 } });

/** Checks that a file that every route delivers is delivered at the first attempt. */
const delivered = async (
  world: World,
  body: (prompt: string) => object,
  answer: Parameters<World["at"]>[0],
  also: (shown: Shown) => boolean = () => true,
): Promise<Seen> => {
  const prompt = world.word();
  await world.deliver(prompt, world.at(answer));
  const shown = await world.made(body(prompt));
  return { isRight: shown.status === "succeeded" && shown.attempts === 1 && also(shown), seen: reported(shown) };
};
/** Submits with an input and judges the response. */
const asInput = async (world: World, input: object, isRight: (status: number, body: string) => boolean): Promise<Seen> => {
  const { status, body } = await world.order({
    model: "vidmodel-2.5",
    input: { prompt: world.word(), resolution: "480p", ...input },
  });
  const { quoted_usd, error } = JSON.parse(body) as { quoted_usd?: number; error?: { message: string } };
  return { isRight: isRight(status, body), seen: `${status} ${error?.message ?? `quoted ${quoted_usd}`}` };
};
/** A short FLAC of silence, with its length in the header. */
const flac = () => {
  const info = Buffer.alloc(34);
  info.writeUInt16BE(4096, 0);
  info.writeUInt16BE(4096, 2);
  info.writeBigUInt64BE((44_100n << 44n) | (15n << 36n) | 4096n, 10);
  // One frame of 4,096 zero samples with its two checksums.
  const frame = Buffer.from("fff8c908009500000021bd", "hex");
  return Buffer.concat([Buffer.from("fLaC"), Buffer.from([0x80, 0, 0, 34]), info, frame]);
};

export const MEDIA_TRIALS: readonly Trial[] = [
  {
    id: "withheld-result",
    says: "treats a picture that fal's filter blackened as a refused output",
    run: async (world) => {
      world.change("fal", (json) => ("images" in json ? { ...json, has_nsfw_concepts: [true] } : undefined));
      const shown = await world.made(forPicture(world.word()));
      world.change("fal", () => undefined);
      return { isRight: shown.status === "failed" || shown.attempts > 1, seen: reported(shown) };
    },
  },
  {
    id: "draft-pictures",
    says: "skips the thoughts in Gemini's response, draft pictures included",
    run: async (world) => {
      const draft = Buffer.from(await png(64, 64)).toString("base64");
      world.change("gemini", (json) => {
        const candidates = json.candidates as { content?: { parts?: object[] } }[] | undefined;
        const [first] = candidates ?? [];
        const parts = first?.content?.parts;
        if (!parts) return undefined;
        const thoughts = [
          { thought: true, text: "a draft first" },
          { thought: true, inlineData: { mimeType: "image/png", data: draft } },
        ];
        return { ...json, candidates: [{ ...first, content: { ...first.content, parts: [...thoughts, ...parts] } }] };
      });
      const shown = await world.made({ model: "gemini-3-pro-image", input: { prompt: world.word() } });
      return {
        isRight: shown.status === "succeeded" && shown.output?.urls.length === 1 && shown.output.width !== 64,
        seen: reported(shown),
      };
    },
  },
  {
    id: "timestamp-offset",
    says: "bills a clip of 6 s after an empty edit of an hour for 6 s",
    run: async (world) => {
      const url = world.at(ranged(await offsetClip(6), "video/mp4"));
      return asInput(world, { video_url: url }, (status, body) => status === 202 && (JSON.parse(body) as Shown).quoted_usd < 5);
    },
  },
  {
    id: "streamed-wav-result",
    says: "delivers sound with a header that was written before the length was known",
    run: (world) => delivered(world, forSound, whole(streamedWav(5, 0x7fff_f000), "audio/wav")),
  },
  {
    id: "streamed-wav-input",
    says: "accepts sound with a length of 0 in its header as an input",
    run: async (world) =>
      asInput(world, { duration: 5, audio_urls: [world.at(whole(streamedWav(5, 0), "audio/wav"))] }, (status) => status === 202),
  },
  {
    id: "large-picture",
    says: "delivers a picture of 16,384 × 16,384 with its size",
    run: (world) => delivered(world, forPicture, whole(largePng(16_384), "image/png"), ({ output }) => output?.width === 16_384),
  },
  {
    id: "metadata-result",
    says: "delivers a JPEG with 1.2 MB of metadata before the picture",
    run: async (world) =>
      delivered(world, forPicture, whole(noted(await jpeg(640, 480), 20), "image/jpeg"), ({ output }) => output?.width === 640),
  },
  {
    id: "metadata-input",
    says: "accepts a JPEG with 300 kB of metadata as an input",
    run: async (world) =>
      asInput(
        world,
        { duration: 5, image_url: world.at(ranged(noted(await jpeg(640, 480), 5), "image/jpeg")) },
        (status) => status === 202,
      ),
  },
  {
    id: "wrong-content-encoding",
    says: "delivers a picture with the false header Content-Encoding: aws-chunked",
    run: async (world) =>
      delivered(world, forPicture, whole(await png(640, 480), "image/png", { "content-encoding": "aws-chunked" })),
  },
  {
    id: "webm-range-requests",
    says: "measures a recorded WebM above 256 KiB from a server with range requests",
    run: async (world) =>
      asInput(
        world,
        { duration: 5, video_urls: [world.at(ranged(await recordedWebm(5), "video/webm"))] },
        (status) => status === 202,
      ),
  },
  {
    id: "gif-result",
    says: "delivers a GIF that a provider returns as a picture",
    run: (world) => delivered(world, forPicture, whole(GIF, "image/gif")),
  },
  {
    id: "unusable-result",
    says: "keeps a route up after three results that only this service could not read",
    run: async (world) => {
      const model = "flux-2-dev";
      const orders = Array.from({ length: 3 }, async () => {
        const prompt = world.word();
        await world.deliver(prompt, world.at(whole(GIF, "image/gif")));
        return world.made({ model, input: { prompt } });
      });
      const shown = await Promise.all(orders);
      const routes = await world.json<RouteLine[]>("routes", "list", "--model", model);
      const isDown = routes.some(({ state }) => state === "down");
      return {
        isRight: !isDown && shown.every(({ status }) => status === "succeeded"),
        seen: `${shown.map(reported).join("; ")}${isDown ? "; a route is down" : ""}`,
      };
    },
  },
  {
    id: "mp3-length",
    says: "rejects 13 concatenated MP3s of 5 s for a model that accepts 60 s",
    run: async (world) => {
      const picture = world.at(ranged(await png(640, 480), "image/png"));
      const sound = world.at(ranged(joinedMp3(13), "audio/mpeg"));
      const { status, body } = await world.order({ model: "veed-fabric-1.0", input: { image_url: picture, audio_url: sound } });
      return {
        isRight: status === 422,
        seen: `${status} ${status === 202 ? `quoted ${(JSON.parse(body) as Shown).quoted_usd}` : (JSON.parse(body) as { error: { message: string } }).error.message}`,
      };
    },
  },
  {
    id: "adts-range-requests",
    says: "measures ADTS above 256 KiB from a server with range requests",
    run: (world) =>
      asInput(world, { duration: 5, audio_urls: [world.at(ranged(longAdts(20), "audio/aac"))] }, (status) => status === 202),
  },
  {
    id: "flac-result",
    says: "delivers FLAC that a provider returns as sound",
    run: (world) => delivered(world, forSound, whole(flac(), "audio/flac")),
  },
  {
    id: "compressed-response",
    says: "reads a poll response that is compressed without being requested so",
    run: async (world) => {
      world.change("replicate", gzipped);
      await world.leaveOn("vidmodel-2.0-mini", "replicate");
      const { status, body } = await world.order({
        model: "vidmodel-2.0-mini",
        input: { prompt: world.word(), resolution: "480p", duration: 4 },
      });
      if (status !== 202) return { isRight: false, seen: `${status} ${body.slice(0, 200)}` };
      await Bun.sleep(20_000);
      const shown = await Promise.race([world.until((JSON.parse(body) as Shown).id), Bun.sleep(40_000).then(() => null)]);
      world.change("replicate", () => undefined);
      return { isRight: shown?.status === "succeeded", seen: shown ? reported(shown) : "running after 60 s" };
    },
  },
  {
    id: "compressed-result",
    says: "delivers a result file that is sent with Content-Encoding: gzip",
    run: async (world) =>
      delivered(
        world,
        forPicture,
        whole(Bun.gzipSync(Buffer.from(await png(640, 480))), "image/png", { "content-encoding": "gzip" }),
      ),
  },
  {
    id: "input-format-error",
    says: "rejects a picture in place of a clip with the accepted formats in the message",
    run: async (world) =>
      asInput(
        world,
        { duration: 5, video_urls: [world.at(ranged(await png(640, 480), "image/png"))] },
        (status, body) => status === 422 && /mp4/i.test(body),
      ),
  },
  {
    id: "signed-link-cors",
    says: "allows a page to fetch its result: CORS on signed links",
    run: async (world) => {
      const shown = await world.made(forPicture(world.word()));
      const answer = await fetch(shown.output?.urls[0] ?? "", { headers: { origin: "https://app.example" } });
      const allowed = answer.headers.get("access-control-allow-origin");
      return {
        isRight: answer.status === 200 && allowed !== null,
        seen: `${answer.status}, access-control-allow-origin ${allowed}`,
      };
    },
  },
  {
    id: "short-clip",
    says: "does not charge for a clip of 4 s when 30 s were ordered",
    run: async (world) => {
      const prompt = world.word();
      await world.deliver(prompt, world.at(whole(await mp4({ seconds: 4 }), "video/mp4")));
      const shown = await world.made({ model: "vidmodel-2.5", input: { prompt, duration: 30, resolution: "720p" } });
      return { isRight: shown.cost_usd === 0, seen: reported(shown) };
    },
  },
  {
    id: "correct-clip",
    says: "charges for a correct clip as before",
    run: async (world) => {
      const shown = await world.made(forClip(world.word()));
      return { isRight: shown.status === "succeeded" && (shown.cost_usd ?? 0) > 0, seen: reported(shown) };
    },
  },
];
