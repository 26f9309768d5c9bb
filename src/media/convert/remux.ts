// Puts the coded pictures and sound of a clip into an MP4, packet by packet and unchanged, where MP4 is a place for them.
import {
  CustomSource,
  EncodedAudioPacketSource,
  type EncodedPacket,
  EncodedPacketSink,
  EncodedVideoPacketSource,
  Input,
  type InputAudioTrack,
  type InputTrack,
  type InputVideoTrack,
  MATROSKA,
  MP4,
  Mp4OutputFormat,
  Output,
  QTFF,
  StreamTarget,
  WEBM,
} from "mediabunny";
import { type ByteReader, Unreadable } from "../byte-source.ts";

/** What MP4 may hold and players expect in it. */
const VIDEO_CODECS = ["avc", "hevc", "av1", "vp9"] as const;
const AUDIO_CODECS = ["aac", "opus"] as const;
const CHUNK_BYTES = 1024 * 1024;
/** The runtime counts what lies outside of its heap too late for a process with so little memory: it is swept after so much. */
const SWEPT_BYTES = 16 * 1024 * 1024;

const asIs = (why: string): never => {
  throw new Unreadable(`${why}: it stays as it is`);
};

type Write = (place: number, bytes: Uint8Array) => void;
type Lane = { startS: number; pour(shiftS: number): Promise<void> };

/** Some containers do not say how long a packet lasts: then as long as the shortest step between two. */
const openLasting = () => {
  let shortestS = Number.POSITIVE_INFINITY;
  let beforeS = Number.NaN;
  return (packet: EncodedPacket): number => {
    const stepS = Math.abs(packet.timestamp - beforeS);
    if (stepS > 0) shortestS = Math.min(shortestS, stepS);
    beforeS = packet.timestamp;
    return packet.duration > 0 || !Number.isFinite(shortestS) ? packet.duration : shortestS;
  };
};

/** @param add hands a packet on, and is ready for the next when it resolves */
const laneOf = async (track: InputTrack, add: (packet: EncodedPacket) => Promise<void>, close: () => void): Promise<Lane> => {
  const sink = new EncodedPacketSink(track as InputVideoTrack);
  const first = (await sink.getFirstPacket()) ?? asIs("a track of it is empty");
  // A second picture for what is transparent, which only Matroska holds.
  if (first.sideData.alpha !== undefined) asIs("it has transparent pictures");
  const lasting = openLasting();
  return {
    startS: first.timestamp,
    pour: async (shiftS) => {
      let bytes = 0;
      for await (const packet of sink.packets(first)) {
        await add(packet.clone({ timestamp: packet.timestamp + shiftS, duration: lasting(packet) }));
        bytes += packet.byteLength;
        if (bytes < SWEPT_BYTES) continue;
        bytes = 0;
        Bun.gc(true);
      }
      close();
    },
  };
};

const videoLane = async (track: InputVideoTrack, output: Output): Promise<Lane> => {
  const codec =
    VIDEO_CODECS.find((one) => one === track.codec) ?? asIs(`MP4 does not take pictures of ${track.codec ?? "its kind"}`);
  const decoderConfig = (await track.getDecoderConfig()) ?? asIs("it does not say how it is decoded");
  // How bright the brightest is stands in Matroska's own words there.
  if (codec === "vp9" && decoderConfig.colorSpace?.transfer === ("pq" as string)) asIs("it has a wider range of brightness");
  const source = new EncodedVideoPacketSource(codec);
  output.addVideoTrack(source, { rotation: await track.getRotation() });
  return laneOf(
    track,
    (packet) => source.add(packet, { decoderConfig }),
    () => source.close(),
  );
};

const audioLane = async (track: InputAudioTrack, output: Output): Promise<Lane> => {
  const codec =
    AUDIO_CODECS.find((one) => one === track.codec) ?? asIs(`MP4 does not take sound of ${track.codec ?? "its kind"}`);
  const decoderConfig = (await track.getDecoderConfig()) ?? asIs("it does not say how it is decoded");
  const source = new EncodedAudioPacketSource(codec);
  output.addAudioTrack(source);
  return laneOf(
    track,
    (packet) => source.add(packet, { decoderConfig }),
    () => source.close(),
  );
};

const pourAll = async (input: Input, write: Write): Promise<void> => {
  const [videos, audios] = [await input.getVideoTracks(), await input.getAudioTracks()];
  if (videos.length > 1 || audios.length > 1) asIs("it has several tracks of a kind");
  const target = new StreamTarget(
    new WritableStream({ write: ({ position, data }: { position: number; data: Uint8Array }) => write(position, data) }),
    { chunked: true, chunkSize: CHUNK_BYTES },
  );
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: false }), target });
  const lanes: Lane[] = [];
  for (const track of videos) lanes.push(await videoLane(track, output));
  for (const track of audios) lanes.push(await audioLane(track, output));
  if (lanes.length === 0) asIs("it has no tracks");
  await output.start();
  // All by the same: nothing moves against anything else, and no time is below 0.
  const shiftS = -Math.min(...lanes.map(({ startS }) => startS));
  await Promise.all(lanes.map((lane) => lane.pour(shiftS)));
  await output.finalize();
};

/** @throws Unreadable where it cannot be done without loss */
export const remux = async (file: ByteReader, write: Write): Promise<void> => {
  const source = new CustomSource({
    getSize: () => file.sizeBytes(),
    read: (start, end) => file.read(start, end),
    handleUnhandledError: () => {},
  });
  const input = new Input({ source, formats: [QTFF, MP4, MATROSKA, WEBM] });
  try {
    await pourAll(input, write);
  } catch (fault) {
    // Out of memory: this process had better not go on.
    if (fault instanceof Unreadable || fault instanceof RangeError) throw fault;
    asIs("it cannot be put into an MP4");
  } finally {
    input.dispose();
  }
};
