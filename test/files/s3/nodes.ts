// A scene of nodes that share a bucket: one data directory whose machine can be lost, a bucket that fails as told, a simulator that outlives both.
import { expect } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSimulator } from "../../../src/simulator/simulator.ts";
import { openApiHouse } from "../../api/harness.ts";
import { testClock } from "../../clock.ts";
import type { House, HouseOptions, Shown } from "../../harness.ts";
import { openTestBucket } from "./bucket.ts";

export const PICTURE = "sim-image-1";

export type Nodes = Awaited<ReturnType<typeof openNodes>>;

export const openNodes = async () => {
  const dir = mkdtempSync(join(tmpdir(), "shared-"));
  const clock = testClock(100);
  const bucket = await openTestBucket(clock.nowMs);
  const simulator = await createSimulator({ clock, kindOf: () => undefined });
  let houses: House[] = [];

  const open = async (more: HouseOptions = {}): Promise<House> => {
    const house = await openApiHouse({ dir, clock, simulator, shared: true, ...more, env: { ...bucket.settings, ...more.env } });
    houses.push(house);
    return house;
  };
  /** The process ends as by a kill. */
  const crash = async (house: House) => {
    houses = houses.filter((each) => each !== house);
    await house.crash();
  };
  /** Another machine over the same store: what the one before had on its own disk is gone with it. */
  const takenOver = async (house: House, more: HouseOptions = {}): Promise<House> => {
    await crash(house);
    for (const own of ["files", "spool"]) rmSync(join(dir, own), { recursive: true, force: true });
    return open(more);
  };
  const onDisk = () => readdirSync(join(dir, "files")).filter((name) => name.startsWith("gen_"));
  const objects = () => [...bucket.objects.keys()].filter((key) => key.startsWith("gen_")).sort();
  const picture = async (house: House): Promise<Shown> => house.until((await house.submit(PICTURE, { prompt: "a robot" })).id);
  const journal = async (house: House, id: string) => {
    const seq = (await house.store.findGeneration(id))?.seq ?? 0;
    return (await house.store.journalOf(seq)).map(({ event }) => event.type);
  };
  const filesOf = async (house: House, id: string) => (await house.store.findGeneration(id))?.output?.files ?? [];
  /** Its record as every node reads it, and a key of the account. */
  const follow = async (house: House, id: string, key: string, method: "GET" | "HEAD" = "GET", headers = {}) => {
    const answered = await house.ask(method, `/v1/generations/${id}/content`, { key });
    expect(answered.status).toBe(302);
    return fetch(answered.headers.get("location") ?? "", { method, headers });
  };

  const close = async () => {
    for (const house of houses.splice(0)) await house.close();
    await simulator.stop();
    await bucket.close();
    clock.stop();
    rmSync(dir, { recursive: true, force: true });
  };
  return { dir, clock, bucket, simulator, open, crash, takenOver, onDisk, objects, picture, journal, filesOf, follow, close };
};
