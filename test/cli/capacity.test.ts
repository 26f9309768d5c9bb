// `genrouter capacity`: its recommendations, its text output and the arguments that it rejects.
import { expect, test } from "bun:test";
import { runHere } from "./captured.ts";

const asked = async (...words: string[]) => {
  const { exit, out } = await runHere(["capacity", ...words, "--json"]);
  expect(exit as number).toBe(0);
  return JSON.parse(out);
};

test("capacity recommends one machine with SQLite for a small rate, and enough nodes with PostgreSQL for a large rate", async () => {
  const small = await asked("--rate", "1");
  expect([small.store, small.sqlite_lacks, small.nodes, small.connections]).toEqual(["sqlite", [], 1, 0]);
  const large = await asked("--rate", "1000", "--keep-rows-days", "30");
  expect([large.store, large.sqlite_lacks.includes("thread"), large.nodes > 3]).toEqual(["postgres", true, true]);
  expect(large.connections).toBe(large.nodes * 10);
  expect(large.cores.busiest_thread).toBeLessThanOrEqual(0.6);
  const fewer = await asked("--rate", "1000", "--nodes", "3");
  expect([fewer.nodes, fewer.cores.busiest_thread > large.cores.busiest_thread]).toEqual([3, true]);
});

test("capacity derives max_running from rate and run time, and file storage from file size and retention", async () => {
  const answer = await asked("--rate", "10", "--run-s", "90", "--result-mb", "4", "--keep-files-days", "2", "--routes", "5");
  expect(answer.in_flight.mean).toBeGreaterThan(900);
  expect(answer.in_flight.mean).toBeLessThan(930);
  expect(answer.max_running.per_node * answer.nodes).toBeGreaterThanOrEqual(answer.in_flight.seldom_more);
  expect(answer.max_running.per_route).toBe(Math.ceil(answer.in_flight.seldom_more / 5));
  expect(answer.files).toEqual({
    ...{ bytes_per_s: 40_000_000, bytes_per_day: 40_000_000 * 86_400, bytes_kept: 40_000_000 * 86_400 * 2 },
    kept: 10 * 86_400 * 2,
  });
});

test("capacity takes the file retention from the settings when --keep-files-days is absent", async () => {
  const day = await runHere(["capacity", "--rate", "1", "--json"], { GENROUTER_LIMITS__FILE_RETENTION_S: "86400" });
  expect(JSON.parse(day.out).files.kept).toBe(86_400);
});

test("capacity advises partitions, then archives, for long row retention, and shards for a rate above all bounds", async () => {
  expect((await asked("--rate", "100", "--keep-rows-days", "1")).advice).toEqual([]);
  expect((await asked("--rate", "100", "--keep-rows-days", "15")).advice).toEqual(["partition"]);
  expect((await asked("--rate", "100", "--keep-rows-days", "365")).advice).toEqual(["partition", "archive"]);
  expect((await asked("--rate", "20000", "--keep-rows-days", "0")).advice).toEqual(["shard", "slots"]);
});

test("capacity prints the verdict, the requirements and the rows per table without --json", async () => {
  const { exit, out, err } = await runHere(["capacity", "--rate", "100", "--store", "postgres"]);
  expect(exit as number).toBe(0);
  expect(out).toMatch(/^100 generations\/s, 60 s each, 20 polls each: PostgreSQL with \d+ nodes?/);
  expect(out).toMatch(
    /^running at most +[\d,]+ a node +limits\.max_running; [\d,]+ on each route \(limits\.max_running_per_route\)$/m,
  );
  expect(out).toMatch(/^full at +[\d,.]+\/s +the threads of the nodes [\d,.]+, /m);
  expect(out).toMatch(/^generation_event +[\d,]+ +[\d.]+ GB +[\d.]+ TB$/m);
  expect(err).toMatch(/^costs as measured on .*; your machine's: npm run costs$/m);
});

test.each<[string[], RegExp]>([
  [[], /required option '--rate <generations>'/],
  [["--rate", "fast"], /--rate: "fast" is not a number from 0\.001 to 100000/],
  [["--rate", "0"], /--rate: "0" is not a number from 0\.001/],
  [["--rate", "-1"], /--rate: "-1" is not a number|argument missing/],
  [["--rate", "1", "--run-s", "1e9"], /--run-s: "1e9" is not a number from 0\.1 to 7200/],
  [["--rate", "1", "--nodes", "65"], /--nodes: "65" is not a whole number from 1 to 64/],
  [["--rate", "1", "--full", "100"], /--full: "100" is not a whole number from 10 to 95/],
  [["--rate", "1", "--store", "mysql"], /--store: "mysql" is not a store; use auto, sqlite, postgres/],
  [["--rate", "1", "--store", "sqlite", "--nodes", "2"], /--nodes: SQLite is for one node/],
])("capacity %p exits with 2 and a message with the allowed values", async (words, said) => {
  const { exit, err } = await runHere(["capacity", ...words]);
  expect([exit as number, err]).toEqual([2, expect.stringMatching(said)]);
});
