// Reading a small plain picture in the main thread gives the same result as a child process.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "../../src/media/formats/inspect.ts";
import { readPlainPicture } from "../../src/media/plain-picture.ts";
import { inMemory } from "./formats/reader.ts";
import { jpeg, png } from "./made.ts";

const FILES = join(import.meta.dir, "../corpus/files");
const SMALL_BYTES = 1024 * 1024;
const whole = { depth: "whole", signal: new AbortController().signal } as const;

const pictures = readdirSync(FILES)
  .filter((name) => /\.(png|jpg|webp|gif|bmp)$/.test(name))
  .map((name) => ({ name, bytes: new Uint8Array(readFileSync(join(FILES, name))) }))
  .filter(({ bytes }) => bytes.length <= SMALL_BYTES);

test.each(pictures.map(({ name, bytes }) => [name, bytes] as const))(
  "reads %s with the same result as a child process, or leaves it to one",
  async (_, bytes) => {
    const asChild = await inspect(inMemory(bytes), whole);
    const found = await readPlainPicture([bytes]);
    if (asChild.isComplete && asChild.ms === undefined) expect(found).toEqual(asChild);
    else expect(found).toBeUndefined();
  },
);

/** Splits a file into chunks of one length, as a socket delivers it. */
const inChunks = (bytes: Uint8Array, length: number): Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / length) }, (_, n) => bytes.subarray(n * length, (n + 1) * length));

test.each(pictures.map(({ name, bytes }) => [name, bytes] as const))(
  "reads %s in chunks of any size with the same result",
  async (_, bytes) => {
    const found = await readPlainPicture([bytes]);
    for (const length of [61, 100, 1000, 1001, 4096]) expect(await readPlainPicture(inChunks(bytes, length))).toEqual(found);
  },
);

test.each(pictures.map(({ name, bytes }) => [name, bytes] as const))(
  "does not read %s when its second half is missing",
  async (_, bytes) => {
    expect(await readPlainPicture([bytes.subarray(0, bytes.length >> 1)])).toBeUndefined();
  },
);

test("leaves files that are not pictures, and pictures that take too many steps, to a child process", async () => {
  expect(await readPlainPicture([new TextEncoder().encode("<!doctype html>".padEnd(700))])).toBeUndefined();
  expect(await readPlainPicture([])).toBeUndefined();
  const picture = await png();
  const chunk = Buffer.concat([Uint8Array.of(0, 0, 0, 0), Buffer.from("noTe"), Uint8Array.of(0, 0, 0, 0)]);
  const notes = Buffer.concat(Array.from({ length: 60_000 }, () => chunk));
  const many = Buffer.concat([picture.subarray(0, 33), notes, picture.subarray(33)]);
  expect((await inspect(inMemory(many), whole)).isComplete).toBe(true);
  expect(await readPlainPicture([many])).toBeUndefined();
  // A progressive JPEG with as many marker-like bytes in its data as fit, where more scans may follow.
  const progressive = Buffer.from(await jpeg());
  progressive[progressive.indexOf(Uint8Array.of(0xff, 0xc0)) + 1] = 0xc2;
  const marks = Buffer.concat([
    progressive.subarray(0, -2),
    Buffer.alloc(SMALL_BYTES, Uint8Array.of(0xff, 0)),
    Uint8Array.of(0xff, 0xd9),
  ]);
  expect(await readPlainPicture([marks])).toBeUndefined();
});
