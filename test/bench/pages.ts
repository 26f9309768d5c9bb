// Prints the page of the benches: their list, the table of the last long run, and the resulting capacity.

import { join } from "node:path";
import { readSettings } from "../../src/config/load.ts";
import { slotsWithin } from "../../src/providers/providers.ts";
import { BENCHES } from "./all.ts";
import type { Result } from "./bench.ts";
import { type RunResults, readInformational } from "./kept.ts";
import { figure, markdownOf } from "./table.ts";
import { TEN_FIGURES_HEAD, tenFiguresRows } from "./ten-figures.ts";

/** The results of `npm run bench -- --out test/bench`, those of the benches with PostgreSQL, and those of files, webhooks and lists. */
const reported = readInformational(import.meta.dir);
const reportedOfNodes = readInformational(join(import.meta.dir, "nodes"));
const reportedOfTen = readInformational(join(import.meta.dir, "ten"));
const reportedOfExtensions = readInformational(join(import.meta.dir, "extensions"));

const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");

export const benchList = (): string =>
  tableOf(
    ["bench", "ours / the other"],
    BENCHES.map(({ name, compares }) => [`\`${name}\``, compares]),
  );

const resultsOf = (of: RunResults | undefined, picture: string): string =>
  of === undefined
    ? "Not run yet."
    : `${of.at.slice(0, 10)}, ${of.machine}, commit ${of.commit}${of.isShort ? ", the short setting" : ""}\n\n${picture}${markdownOf([...of.results, ...of.notes], of)}`;

export const benchResults = (): string => resultsOf(reported, "![every ratio beside its target](targets.svg)\n\n");
/** The page of the ten figures. */
export const tenFigures = (): string =>
  reportedOfTen === undefined
    ? "Not run yet."
    : `${reportedOfTen.at.slice(0, 10)}, ${reportedOfTen.machine}, commit ${reportedOfTen.commit}${reportedOfTen.isShort ? ", the short setting" : ""}\n\n![ten figures beside their peers](../test/bench/ten/ten-figures.svg)\n\n${tableOf(TEN_FIGURES_HEAD, tenFiguresRows([...reportedOfTen.results, ...reportedOfTen.notes]))}`;
export const benchNodes = (): string => resultsOf(reportedOfNodes, "");
export const benchExtensions = (): string => resultsOf(reportedOfExtensions, "");

const of = (name: string): Result | undefined =>
  [...(reported?.results ?? []), ...(reported?.notes ?? [])].find((one) => one.name === name);
const SECONDS_PER_DAY = 86_400;
/** The requests of a client for each generation: one submission, and polls while it waits. */
const POLLS = 20;
/** A modest disk: its sustained writes per second, kB, and its syncs per second. */
const DISK_KB_PER_S = 100_000;
const DISK_SYNCS_PER_S = 200;
/** Each result file has a separate sync. Commits and directory syncs are shared by all that wait for one. */
const OWN_SYNCS = 1;
const SHARED_SYNCS = 5;
const SHARED_BY = 100;
/** The limit of submissions in flight to one provider, and its time to accept one, s. */
const SUBMIT_S = 0.5;
/** The time of providers for a picture and for a clip, s. */
const PICTURE_S = 5;
const CLIP_S = 90;

/** The generations per second that each part sustains; the minimum is the service's capacity. */
export const capacity = (): string => {
  const lifeUs = of("lifecycle")?.cpuUs?.ours;
  const pollUs = of("poll, in flight")?.cpuUs?.ours;
  const writtenKb = of("lifecycle, written")?.ours;
  if (lifeUs === undefined || pollUs === undefined || writtenKb === undefined) return "Not measured yet.";
  const { limits } = readSettings({}, {});
  const { submits } = slotsWithin(Number.MAX_SAFE_INTEGER);
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
      `${OWN_SYNCS} each, ${SHARED_SYNCS} more shared by ${SHARED_BY}, of ${DISK_SYNCS_PER_S} syncs/s one after the other`,
      DISK_SYNCS_PER_S / (OWN_SYNCS + SHARED_SYNCS / SHARED_BY),
    ],
    ["one provider, submissions", `${submits} in flight, ${SUBMIT_S} s each`, submits / SUBMIT_S],
    [
      "a route, pictures",
      `${limits.max_running_per_route} running, ${PICTURE_S} s each`,
      limits.max_running_per_route / PICTURE_S,
    ],
    ["a route, clips", `${limits.max_running_per_route} running, ${CLIP_S} s each`, limits.max_running_per_route / CLIP_S],
    ["all routes, pictures", `${limits.max_running} running, ${PICTURE_S} s each`, limits.max_running / PICTURE_S],
    ["all routes, clips", `${limits.max_running} running, ${CLIP_S} s each`, limits.max_running / CLIP_S],
  ];
  const inOrder = rows.toSorted(([, , a], [, , b]) => a - b);
  return `${tableOf(
    ["part", "cost", "generations/s", "a day"],
    rows.map(([part, how, perS]) => [part, how, figure(perS), figure(perS * SECONDS_PER_DAY)]),
  )}\n\nIn this order they are full: ${inOrder.map(([part]) => part).join("; ")}.`;
};
