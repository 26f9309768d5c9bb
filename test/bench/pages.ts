// What the page of the benches prints: their list, the table of the last long run, and the capacity that follows from it.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readSettings } from "../../src/config.ts";
import { BENCHES } from "./all.ts";
import type { Result } from "./bench.ts";
import { figure, markdownOf } from "./table.ts";

/** Where `npm run bench -- --out test/bench` leaves what it measured. */
const FILE = join(import.meta.dir, "results.json");
type Told = { results: Result[]; machine: string; commit: string; at: string };
const told: Told | undefined = existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf8")) as Told) : undefined;

const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");

export const benchList = (): string =>
  tableOf(
    ["bench", "ours / the other"],
    BENCHES.map(({ name, compares }) => [`\`${name}\``, compares]),
  );

export const benchResults = (): string =>
  told === undefined
    ? "Not run yet."
    : `${told.at.slice(0, 10)}, ${told.machine}, commit ${told.commit}\n\n${markdownOf(told.results)}`;

const of = (name: string): Result | undefined => told?.results.find((one) => one.name === name);
const SECONDS_PER_DAY = 86_400;
/** What a client does per generation: it submits once, and polls while it waits. */
const POLLS = 20;
/** A modest disk: what it writes in a second without hurry, kB, and how many times it can be told to sync. */
const DISK_KB_PER_S = 100_000;
const DISK_SYNCS_PER_S = 200;
/** Commits in the life of a generation, and generations that share one on a disk that is kept busy. */
const COMMITS = 6;
const SHARED_BY = 100;
/** How long providers take for a picture and for a clip, s. */
const PICTURE_S = 5;
const CLIP_S = 90;

/** How many generations a second each part can carry; the least of them is what the service can. */
export const capacity = (): string => {
  const lifeUs = of("lifecycle")?.cpuUs?.ours;
  const pollUs = of("poll, in flight")?.cpuUs?.ours;
  const writtenKb = of("lifecycle, written")?.ours;
  if (lifeUs === undefined || pollUs === undefined || writtenKb === undefined) return "Not measured yet.";
  const { limits } = readSettings({}, {});
  const rows: [part: string, how: string, perS: number][] = [
    ["one core, whole lives", `${figure(lifeUs)} µs of CPU time each`, 1_000_000 / lifeUs],
    [
      `one core, lives that are polled ${POLLS} times`,
      `${POLLS} × ${figure(pollUs)} µs more`,
      1_000_000 / (lifeUs + POLLS * pollUs),
    ],
    ["one disk, bytes", `${figure(writtenKb)} kB each, of ${DISK_KB_PER_S / 1000} MB/s`, DISK_KB_PER_S / writtenKb],
    [
      "one disk, syncs",
      `${COMMITS} commits each, one shared by ${SHARED_BY}, of ${DISK_SYNCS_PER_S} syncs/s`,
      (DISK_SYNCS_PER_S * SHARED_BY) / COMMITS,
    ],
    ["a route, pictures", `${limits.seats_per_route} seats, ${PICTURE_S} s each`, limits.seats_per_route / PICTURE_S],
    ["a route, clips", `${limits.seats_per_route} seats, ${CLIP_S} s each`, limits.seats_per_route / CLIP_S],
    ["all routes, pictures", `${limits.seats} seats, ${PICTURE_S} s each`, limits.seats / PICTURE_S],
    ["all routes, clips", `${limits.seats} seats, ${CLIP_S} s each`, limits.seats / CLIP_S],
  ];
  return tableOf(
    ["part", "cost", "generations/s", "a day"],
    rows.map(([part, how, perS]) => [part, how, figure(perS), figure(perS * SECONDS_PER_DAY)]),
  );
};
