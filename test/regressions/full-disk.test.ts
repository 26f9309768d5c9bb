// Full local disk of a node: detection from failed writes, and recovery.

import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDiskSpace } from "../../src/files/disk-space.ts";
import type { Spool } from "../../src/files/inline-spool.ts";
import type { Files } from "../../src/files/port.ts";
import { StorageRefused, StorageUnavailable } from "../../src/files/port.ts";
import { testClock } from "../clock.ts";
import { eventually } from "../eventually.ts";
import { dropScratch } from "../scratch.ts";

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) dropScratch(dir);
});

const open = (places: { keep?: () => Promise<string>; write?: () => Promise<void> } = {}) => {
  const dir = mkdtempSync(join(tmpdir(), "space-"));
  dirs.push(dir);
  const clock = testClock(0);
  const events: string[] = [];
  const space = createDiskSpace({ dir, clock, log: (event) => events.push(event) });
  const receive = async () => ({
    ...{ path: "", write: places.write ?? (async () => undefined), keep: async () => undefined, discard: async () => undefined },
  });
  const spool: Spool = { keep: places.keep ?? (async () => "spool:a"), open: async () => undefined, sweep: async () => 0 };
  const watched = space.watched({
    files: { receive } as unknown as Files,
    uploads: { receive } as unknown as Files,
    spool,
    outcomes: { keep: async () => undefined, drop: async () => undefined, read: async () => [], sweep: async () => 0 },
  });
  return { dir, clock, events, space, watched };
};
const full = async () => {
  throw new StorageRefused("the disk returned an error: ENOSPC");
};

test("a spool write that fails with ENOSPC marks the disk as full and logs it once", async () => {
  const { space, watched, events } = open({ keep: full });
  expect(space.isFull()).toBe(false);
  for (let time = 0; time < 2; time += 1) await expect(watched.spool.keep("a-1", 1, [], "")).rejects.toThrow("ENOSPC");
  expect([space.isFull(), events]).toEqual([true, ["disk full"]]);
});

test.each(["files", "uploads"] as const)("a write of %s that fails with ENOSPC marks the disk as full", async (place) => {
  const { space, watched } = open({ write: full });
  const incoming = await watched[place].receive("gen_1", 1);
  await expect(incoming.write(new Uint8Array(1))).rejects.toThrow("ENOSPC");
  expect(space.isFull()).toBe(true);
});

test("a successful test write after 5 s marks the disk as recovered and leaves no file", async () => {
  const { space, watched, events, clock, dir } = open({ keep: full });
  await watched.spool.keep("a-1", 1, [], "").catch(() => undefined);
  clock.skip(4_999);
  expect(space.isFull()).toBe(true);
  clock.skip(1);
  await eventually(() => !space.isFull(), "free disk space");
  expect([events, readdirSync(dir)]).toEqual([["disk full", "disk space recovered"], []]);
});

test("a missing data directory keeps the disk marked as full", async () => {
  const { space, watched, clock, dir, events } = open({ keep: full });
  await watched.spool.keep("a-1", 1, [], "").catch(() => undefined);
  rmSync(dir, { recursive: true });
  for (let time = 0; time < 3; time += 1) {
    clock.skip(5_000);
    await new Promise((turn) => setTimeout(turn, 5));
  }
  expect([space.isFull(), events]).toEqual([true, ["disk full"]]);
});

for (const [what, fault] of [
  ["a bucket outage", new StorageUnavailable("the bucket does not answer: ENOSPC")],
  ["a lack of file descriptors", new StorageRefused("the disk returned an error: EMFILE")],
] as const)
  test(`${what} does not mark the disk as full`, async () => {
    const keep = async () => {
      throw fault;
    };
    const { space, watched } = open({ keep });
    await watched.spool.keep("a-1", 1, [], "").catch(() => undefined);
    expect(space.isFull()).toBe(false);
  });
