// Copies the encoded packets of a clip into an MP4 without re-encoding.
//
// Clips with content that MP4 does not support are rejected.
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

/** Codecs that MP4 supports and players expect in it. */
const VIDEO_CODECS = ["avc", "hevc", "av1", "vp9"] as const;
const AUDIO_CODECS = ["aac", "opus"] as const;
const CHUNK_BYTES = 1024 * 1024;
/**
 * Bun's garbage collector accounts for off-heap memory too late for a small process, so a collection runs after this many bytes.
 */
const SWEPT_BYTES = 16 * 1024 * 1024;

const asIs = (why: string): never => {
  throw new Unreadable(`${why}: it stays as it is`);
};

type Write = (place: number, bytes: Uint8Array) => void;
type Lane = { startS: number; pour(shiftS: number): Promise<void> };

/** Some containers store no packet duration. In that case the shortest interval between two packets is used. */
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

/** @param add writes a packet; resolves when it accepts the next one */
const laneOf = async (track: InputTrack, add: (packet: EncodedPacket) => Promise<void>, close: () => void): Promise<Lane> => {
  const sink = new EncodedPacketSink(track as InputVideoTrack);
  const first = (await sink.getFirstPacket()) ?? asIs("a track of it is empty");
  // A separate alpha picture, which only Matroska supports.
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
  // Matroska stores the peak brightness in elements that the MP4 would not contain.
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
  // All tracks are shifted by the same time, so that they stay in sync and no timestamp is negative.
  const shiftS = -Math.min(...lanes.map(({ startS }) => startS));
  await Promise.all(lanes.map((lane) => lane.pour(shiftS)));
  await output.finalize();
};

/** @throws Unreadable if the clip cannot be converted without loss */
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
    // A RangeError means that memory is exhausted, so the child must not continue.
    if (fault instanceof Unreadable || fault instanceof RangeError) throw fault;
    asIs("it cannot be put into an MP4");
  } finally {
    input.dispose();
  }
};
