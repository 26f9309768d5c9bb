// Fixture of nodes that share a bucket: a data directory that can be lost, a scripted bucket and a simulator that outlives both.

import { expect } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSimulator } from "../../../src/simulator/simulator.ts";
import { openApiHarness } from "../../api/harness.ts";
import { testClock } from "../../clock.ts";
import type { GenerationResource, Harness, HarnessOptions } from "../../harness.ts";
import { dropScratch } from "../../scratch.ts";
import { openTestBucket } from "./bucket.ts";

export const PICTURE = "sim-image-1";

export type Nodes = Awaited<ReturnType<typeof openNodes>>;

export const openNodes = async () => {
  const dir = mkdtempSync(join(tmpdir(), "shared-"));
  const clock = testClock(100);
  const bucket = await openTestBucket(clock.nowMs);
  const simulator = await createSimulator({ clock, kindOf: () => undefined });
  let harnesses: Harness[] = [];

  const open = async (more: HarnessOptions = {}): Promise<Harness> => {
    const harness = await openApiHarness({
      dir,
      clock,
      simulator,
      shared: true,
      ...more,
      env: { ...bucket.settings, ...more.env },
    });
    harnesses.push(harness);
    return harness;
  };
  /** Ends the process as a kill does. */
  const crash = async (harness: Harness) => {
    harnesses = harnesses.filter((each) => each !== harness);
    await harness.crash();
  };
  /** Starts another machine over the same store: the local disk of the previous node is lost. */
  const takenOver = async (harness: Harness, more: HarnessOptions = {}): Promise<Harness> => {
    await crash(harness);
    for (const own of ["files", "spool"]) rmSync(join(dir, own), { recursive: true, force: true });
    return open(more);
  };
  const onDisk = () => readdirSync(join(dir, "files")).filter((name) => name.startsWith("gen_"));
  const objects = () => [...bucket.objects.keys()].filter((key) => key.startsWith("gen_")).sort();
  const picture = async (harness: Harness): Promise<GenerationResource> =>
    harness.until((await harness.submit(PICTURE, { prompt: "a robot" })).id);
  const journal = async (harness: Harness, id: string) => {
    const seq = (await harness.store.findGeneration(id))?.seq ?? 0;
    return (await harness.store.eventsOf(seq)).map(({ event }) => event.type);
  };
  const filesOf = async (harness: Harness, id: string) => (await harness.store.findGeneration(id))?.output?.files ?? [];
  /** Follows the redirect of the content endpoint with a key of the account. */
  const follow = async (harness: Harness, id: string, key: string, method: "GET" | "HEAD" = "GET", headers = {}) => {
    const answered = await harness.request(method, `/v1/generations/${id}/content`, { key });
    expect(answered.status).toBe(302);
    return fetch(answered.headers.get("location") ?? "", { method, headers });
  };

  const close = async () => {
    for (const harness of harnesses.splice(0)) await harness.close();
    await simulator.stop();
    await bucket.close();
    clock.stop();
    dropScratch(dir);
  };
  return { dir, clock, bucket, simulator, open, crash, takenOver, onDisk, objects, picture, journal, filesOf, follow, close };
};
