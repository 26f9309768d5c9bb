// Planted violations of invariant 13: charged results that differ from the order.
import { type Plant, plant } from "./violation.ts";
import { ENDED, EVENTFUL } from "./violations.ts";

const output = (from: string, to: string) =>
  `UPDATE generation SET output = replace(output, '${from}', '${to}') WHERE seq = ${ENDED}`;
const ordered = (json: string) => `UPDATE generation SET expected_delivery = '${json}' WHERE seq = ${ENDED}`;
const copyOf = (ms: number) =>
  `INSERT INTO pinned_input (generation_seq, input_no, field, kind, measured_ms, frame_ms, sha256, bytes, mime, ms, pinned_at_ms)
   VALUES (${ENDED}, 1, 'input.video_url', 'video', 4000, 42, '${"c".repeat(64)}', 71000, 'video/mp4', ${ms}, 1)`;

export const PLANTS_OF_DELIVERIES: readonly Plant[] = [
  ...plant(13, "the charged delivery differs from the order", [
    ["a video that is one second shorter than ordered", output('"durationMs":5000', '"durationMs":4000')],
    ["a 480p video where 720p was ordered", output('"width":1280,"height":720', '"width":854,"height":480')],
    ["a video without the ordered sound", output('"hasAudio":true', '"hasAudio":false')],
    [
      "an image where a video was ordered",
      `UPDATE generation SET output = replace(replace(output, 'video/mp4', 'image/png'), '"durationMs":5000,', '') WHERE seq = ${ENDED}`,
    ],
    ["another aspect ratio than ordered", ordered('{"kind":"video","aspect":"9:16","aspectOff":0.1}')],
    ["a video shorter than an ordered length of 30 seconds", ordered('{"kind":"video","ms":30000,"leastMs":28800}')],
    ["missing files where all files were ordered", ordered('{"kind":"video","files":2,"allFiles":true}')],
    ["an expected delivery that is not valid JSON", ordered("{")],
  ]),
  ...plant(13, "a mismatched attempt was charged", [
    [
      "a capture of a mismatched attempt",
      `UPDATE attempt SET state = 'mismatched' WHERE generation_seq = ${EVENTFUL} AND state = 'delivered'`,
      4,
    ],
  ]),
  ...plant(13, "an attempt started before the inputs of its generation were pinned", [
    [
      "a linked input that was never pinned",
      `INSERT INTO pinned_input (generation_seq, input_no, field, kind, measured_ms, frame_ms) VALUES (${EVENTFUL}, 1, 'input.video_url', 'video', 4000, 42)`,
    ],
  ]),
  ...plant(13, "the length of a pinned input differs from the billed length", [
    ["a pinned copy that is two frames longer than billed", copyOf(4084)],
    ["a pinned copy that is two frames shorter than billed", copyOf(3916)],
  ]),
];
