// What is planted for the checker to find: what was charged for and is not what was ordered, invariant 13.
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
    ["a clip that is a second shorter", output('"durationMs":5000', '"durationMs":4000')],
    ["a clip of 480p where 720p was ordered", output('"width":1280,"height":720', '"width":854,"height":480')],
    ["a clip without the sound that was ordered", output('"hasAudio":true', '"hasAudio":false')],
    [
      "a picture where a clip was ordered",
      `UPDATE generation SET output = replace(replace(output, 'video/mp4', 'image/png'), '"durationMs":5000,', '') WHERE seq = ${ENDED}`,
    ],
    ["another shape than was asked for", ordered('{"kind":"video","aspect":"9:16","aspectOff":0.1}')],
    ["a longer one that was ordered", ordered('{"kind":"video","ms":30000,"leastMs":28800}')],
    ["files that are missing where all were promised", ordered('{"kind":"video","files":2,"allFiles":true}')],
    ["an order that cannot be read", ordered("{")],
  ]),
  ...plant(13, "a mismatched attempt was charged", [
    [
      "a capture for what delivered something else",
      `UPDATE attempt SET state = 'mismatched' WHERE generation_seq = ${EVENTFUL} AND state = 'delivered'`,
      4,
    ],
  ]),
  ...plant(13, "an attempt started before the inputs of its generation were pinned", [
    [
      "a link of it that was never fetched",
      `INSERT INTO pinned_input (generation_seq, input_no, field, kind, measured_ms, frame_ms) VALUES (${EVENTFUL}, 1, 'input.video_url', 'video', 4000, 42)`,
    ],
  ]),
  ...plant(13, "the length of a pinned input differs from the billed length", [
    ["a copy that is two frames longer", copyOf(4084)],
    ["a copy that is two frames shorter", copyOf(3916)],
  ]),
];
