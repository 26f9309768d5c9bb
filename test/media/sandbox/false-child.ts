// Faulty child: misbehaves as its argument requests, and responds correctly for files of one byte.
import { readSync, writeSync } from "node:fs";
import {
  encodePosition,
  encodeWanted,
  FRAMES_FROM_CHILD,
  frameOf,
  HEADER_BYTES,
  headerOf,
  readHeader,
} from "../../../src/media/sandbox/frames.ts";

const does = process.argv[2] ?? "";
const text = new TextEncoder();
const send = (kind: number, ...parts: Uint8Array[]) => {
  const frame = frameOf(kind, ...parts);
  for (let at = 0; at < frame.length; ) at += writeSync(1, frame, at, frame.length - at);
};
const receive = (length: number) => {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const got = readSync(0, bytes, at, length - at, null);
    if (got === 0) process.exit(0);
    at += got;
  }
  return bytes;
};

let jobs = 0;
const kept: Uint8Array[] = [];
const keepMuch = () => kept.push(new Uint8Array(100 * 1024 * 1024).fill(1));
const right = () =>
  send(FRAMES_FROM_CHILD.done, text.encode(JSON.stringify({ mime: "image/png", kind: "other", isComplete: true })));

const WAYS: Record<string, () => void> = {
  ends: () => process.exit(7),
  "is killed": () => process.kill(process.pid, "SIGKILL"),
  "sends garbage": () => send(FRAMES_FROM_CHILD.done, text.encode("{not JSON")),
  "sends a response that violates the schema": () =>
    send(
      FRAMES_FROM_CHILD.done,
      text.encode(JSON.stringify({ mime: "image/png", kind: "image", width: -3, height: 1, isComplete: true })),
    ),
  "sends a response that is too long": () => {
    writeSync(1, headerOf(FRAMES_FROM_CHILD.done, 0xffff_ffff));
    for (;;) writeSync(1, new Uint8Array(65_536));
  },
  "sends an error with control characters": () => send(FRAMES_FROM_CHILD.unreadable, text.encode("\x1b[2J\x07")),
  "requests bytes past the end": () =>
    send(FRAMES_FROM_CHILD.read, encodeWanted({ start: 0, least: 1_000_000, most: 1_000_000 })),
  "writes an unrequested file": () => send(FRAMES_FROM_CHILD.write, encodePosition(0), text.encode("a file")),
  // Only a child that has done a job before ends in this way.
  "ends later": () => (jobs > 1 ? process.exit(7) : right()),
  "keeps much and hoards later": () => {
    if (jobs > 1) WAYS.hoards?.();
    right();
  },
  chatters: () => undefined,
  spins: () => {
    for (;;);
  },
  hoards: () => {
    for (;;) kept.push(new Uint8Array(4 * 1024 * 1024).fill(1));
  },
  sleeps: () => Bun.sleepSync(60_000),
};

send(FRAMES_FROM_CHILD.ready, text.encode(JSON.stringify({ limits: false, network: false, calls: false, tied: false })));
for (;;) {
  const { payloadBytes } = readHeader(receive(HEADER_BYTES));
  const job = receive(payloadBytes);
  jobs += 1;
  if (does === "keeps much and hoards later" && jobs === 1) keepMuch();
  const words = new DataView(job.buffer).getUint32(0, true);
  const { sizeBytes } = JSON.parse(new TextDecoder().decode(job.subarray(4, 4 + words)));
  if (sizeBytes > 1) WAYS[does]?.();
  else right();
  if (does === "chatters") send(FRAMES_FROM_CHILD.unreadable, text.encode("not requested"));
}
