// Tests of the record of a long run in parts: finished rounds are kept, an unfinished one is dropped, the sum covers all.
import { afterAll, expect, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { createNodeSelection } from "../../src/torture/crash/node-selection.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openRecord, seedOf } from "./record.ts";

afterAll(dropDirs);
const round = (cycles: number, longestTakeOverMs: number, faults: string[] = []) => ({
  checks: [{ name: "nothing is lost", faults }],
  figures: { cycles, kills: cycles, longestTakeOverMs },
});

test("a record continues with its own seed, and overwrites the incomplete line of its last run", () => {
  const path = join(freshDir(), "cluster.jsonl");
  const first = openRecord(path, 7);
  first.add(round(50, 2500));
  first.add(round(50, 2900));
  appendFileSync(path, '{"base":7,"n":2,"checks":[{"na');
  const next = openRecord(path, 99);
  expect([next.base, next.cycles(), next.rounds()]).toEqual([7, 100, 2]);
  next.add(round(20, 2100, ["one is missing"]));
  const last = openRecord(path, 99);
  expect([last.cycles(), last.rounds()]).toEqual([120, 3]);
  expect(last.sum()).toEqual({
    checks: [{ name: "nothing is lost", faults: ["one is missing"] }],
    figures: { cycles: 120, kills: 120, longestTakeOverMs: 2900 },
  });
});

test("seedOf returns the seed of the run for the first round, and another seed for each further one", () => {
  expect(seedOf(7, 0)).toBe(7);
  expect(new Set([0, 1, 2, 3].map((n) => seedOf(7, n))).size).toBe(4);
});

test("a client uses the nodes in turn, and skips a node that gave no response", async () => {
  const serve = (name: string) => Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json({ name }) });
  const servers = [serve("a"), serve("b"), serve("c")];
  const proxies = createNodeSelection(servers.map(({ url }) => url.origin));
  const asked = async () => (await proxies.ask("", { path: "/" }))?.body.name;
  expect([await asked(), await asked(), await asked(), await asked()]).toEqual(["a", "b", "c", "a"]);
  await servers[1]?.stop(true);
  expect([await asked(), await asked(), await asked(), await asked()]).toEqual([undefined, "c", "a", "c"]);
  for (const server of servers) await server.stop(true);
  // When no node is left, the client tries all of them again.
  expect([await asked(), await asked(), await asked()]).toEqual([undefined, undefined, undefined]);
});
