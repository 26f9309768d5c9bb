// Reference length and size of a file by ffmpeg (decoded samples) and ffprobe (shown packets).
// It never uses the readers of the service.
import { $ } from "bun";

export type Reference = {
  width?: number;
  height?: number;
  /** Video length by its shown packets, in seconds, and the duration of a packet: the median, or the mean if it is longer. */
  videoS?: number;
  videoFrameS?: number;
  /** Audio length by decoded samples, in seconds, and the duration of one coded frame. */
  soundS?: number;
  soundFrameS?: number;
};

type Probed = {
  index: number;
  codec_type: string;
  width?: number;
  height?: number;
  sample_rate?: string;
  sample_aspect_ratio?: string;
  disposition?: { attached_pic?: number };
  side_data_list?: { rotation?: number }[];
};

const rounded = (seconds: number) => Number(seconds.toFixed(6));

const packetsOf = async (path: string, index: number) => {
  const text =
    await $`ffprobe -v error -select_streams ${index} -show_entries packet=pts_time,duration_time,flags -of json ${path}`
      .quiet()
      .text();
  const { packets } = JSON.parse(text) as { packets: { pts_time?: string; duration_time?: string; flags: string }[] };
  return packets
    .filter(({ flags, pts_time }) => !flags.includes("D") && pts_time !== undefined)
    .map(({ pts_time, duration_time }) => ({ at: Number(pts_time), length: Number(duration_time ?? 0) }));
};

/** The median, so that one odd packet, for example between chained streams, has no effect. */
const medianOf = (packets: readonly { length: number }[]): number =>
  packets.map(({ length }) => length).sort((a, b) => a - b)[packets.length >> 1] ?? 0;

/** The displayed size: with square pixels, after rotation. */
const shownSize = ({ width = 0, height = 0, sample_aspect_ratio = "1:1", side_data_list }: Probed) => {
  const [across = 1, down = 1] = sample_aspect_ratio.split(":").map((each) => Number(each) || 1);
  const wide = across > down ? Math.round((width * across) / down) : width;
  const high = across < down ? Math.round((height * down) / across) : height;
  const turn = side_data_list?.find(({ rotation }) => rotation !== undefined)?.rotation ?? 0;
  return Math.abs(turn) % 180 === 90 ? { width: high, height: wide } : { width: wide, height: high };
};

const videoOf = async (path: string, stream: Probed): Promise<Reference> => {
  const packets = await packetsOf(path, stream.index);
  if (packets.length === 0) return shownSize(stream);
  const start = Math.min(...packets.map(({ at }) => at));
  const end = Math.max(...packets.map(({ at, length }) => at + length));
  const median = medianOf(packets);
  const videoFrameS = Math.max(median, (end - start) / packets.length);
  return { ...shownSize(stream), videoS: rounded(end - start), videoFrameS: rounded(videoFrameS) };
};

const soundOf = async (path: string, stream: Probed): Promise<Reference> => {
  const rate = Number(stream.sample_rate);
  const decoded = Number(
    (
      await $`ffmpeg -v quiet -nostdin -i ${path} -map 0:${stream.index} -f s16le -ac 1 -ar ${rate} - | wc -c`
        .quiet()
        .nothrow()
        .text()
    ).trim(),
  );
  const packets = await packetsOf(path, stream.index);
  const soundS = decoded / 2 / rate;
  // The mean if packets have no durations.
  const frameS = medianOf(packets) || soundS / Math.max(1, packets.length);
  return { soundS: rounded(soundS), soundFrameS: rounded(frameS) };
};

/** The longest of several tracks of a kind, because the provider may use any of them; the size of the first. */
const longest = (all: readonly Reference[], lengthOf: (each: Reference) => number | undefined): Reference => {
  const [first = {}] = all;
  const most = all.reduce((best, each) => ((lengthOf(each) ?? 0) > (lengthOf(best) ?? 0) ? each : best), first);
  const { width, height } = first;
  return width === undefined || height === undefined ? most : { ...most, width, height };
};

/** @param isPicture a still image, of which only the size is compared */
export const referenceOf = async (path: string, isPicture: boolean): Promise<Reference> => {
  const text = await $`ffprobe -v error -show_streams -of json ${path}`.quiet().nothrow().text();
  const { streams = [] } = JSON.parse(text || "{}") as { streams?: Probed[] };
  const videos = streams.filter((each) => each.codec_type === "video" && each.disposition?.attached_pic !== 1);
  if (isPicture) return videos[0] ? { width: videos[0].width ?? 0, height: videos[0].height ?? 0 } : {};
  const sounds = streams.filter((each) => each.codec_type === "audio");
  const seen: Reference[] = [];
  for (const stream of videos) seen.push(await videoOf(path, stream));
  const heard: Reference[] = [];
  for (const stream of sounds) heard.push(await soundOf(path, stream));
  return { ...longest(seen, ({ videoS }) => videoS), ...longest(heard, ({ soundS }) => soundS) };
};
