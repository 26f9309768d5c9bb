// Judges the figures of a soak against their bounds, and fits a line through a series.
import { CHECKS } from "../../src/store/sqlite/verify/all.ts";
import type { Sample } from "./sample.ts";

export type Point = readonly [x: number, y: number];
/** A line through points by least squares; `error` is the standard error of its slope. */
export type Fit = { slope: number; error: number };

export const fitLine = (points: readonly Point[]): Fit => {
  const n = points.length;
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / n;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / n;
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  const slope = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread;
  const rest = points.reduce((sum, [x, y]) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0);
  return { slope, error: Math.sqrt(rest / (n - 2) / spread) };
};

/** `kind`: timing figures depend on other load of the machine and fail a soak only with --strict. */
export type Row = { name: string; measured: string; bound: string; isMet: boolean; kind: "hard" | "timing" | "note" };

/** Facts of the soak beside the samples. */
export type Facts = {
  invariants: { ok: boolean; reported: string };
  twice: readonly string[];
  lost: readonly string[];
  /** Generations that were still open a minute after their job had ended. */
  outlived: readonly string[];
  strange: readonly string[];
  faults: readonly string[];
  /** Null if the service was never killed. */
  readyMs: number | null;
  inFlightAtKill: number;
};

/** Memory is judged from the tenth minute of a process on: until then its caches fill. */
export const WARM_S = 600;
/** The least time after the warm-up for a meaningful slope. */
const JUDGED_S = 300;
/** A slope with a larger uncertainty (MB per ten minutes) could hide a leak: the soak was too short or the machine too busy. */
const FINE_MB = 3;
const TEN_MINUTES_S = 600;
/** Client sockets vary with load, so the minimum is compared; this many more in the last quarter are allowed. */
const SPARE_FILES = 32;
/** The load is steady if this share of the samples has its generations in flight within a tenth of their median. */
const STEADY = 0.9;
/** With fewer samples, or without one of each process, nothing can be judged. */
const LEAST_LOOKS = 5;
const LIVES = 2;
/** The two counts of one sample are taken some ms apart, and generations begin and end in between. */
const SPARE_ACTORS = 3;
const FIRST_S = 60;

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
const largest = (values: readonly number[]) => values.reduce((most, value) => Math.max(most, value), 0);

/** The samples of each process, with the time since its start. */
const livesOf = (samples: readonly Sample[]): Sample[][] => {
  const lives = [...new Set(samples.map(({ life }) => life))];
  return lives.map((life) => {
    const own = samples.filter((one) => one.life === life);
    const fromS = own[0]?.atS ?? 0;
    return own.map((one) => ({ ...one, atS: one.atS - fromS }));
  });
};

const memoryRows = (samples: readonly Sample[], life: number): Row[] => {
  const warm = samples.filter(({ atS }) => atS >= WARM_S);
  const [first, last] = [warm[0], warm.at(-1)];
  const isJudged = first !== undefined && last !== undefined && last.atS - first.atS >= JUDGED_S;
  const series = isJudged ? warm : samples.slice(Math.floor(samples.length / 2));
  if (series.length < 4) return [];
  const [from, to] = [series[0]?.atS ?? 0, series.at(-1)?.atS ?? 0];
  const kind = isJudged ? "hard" : "note";
  const span = `life ${life}, ${Math.round(from / 60)} to ${Math.round(to / 60)} min${isJudged ? "" : ", too short to judge"}`;
  const slopeRow = (name: string, of: (one: Sample) => number): Row => {
    const { slope, error } = fitLine(series.map((one) => [one.atS / TEN_MINUTES_S, of(one)] as const));
    return {
      name: `${name}, growth per 10 min (${span})`,
      measured: `${slope.toFixed(2)} MB ± ${(2 * error).toFixed(2)}`,
      bound: `< 1 MB beyond its uncertainty, which is < ${FINE_MB} MB`,
      isMet: slope - 2 * error < 1 && 2 * error < FINE_MB,
      kind,
    };
  };
  const ends = median(series.slice(-6).map(({ rssMb }) => rssMb));
  const begins = median(series.slice(0, 6).map(({ rssMb }) => rssMb));
  return [
    slopeRow("resident memory", ({ rssMb }) => rssMb),
    slopeRow("heap", ({ heapMb }) => heapMb),
    {
      name: `resident memory at the end against its beginning (${span})`,
      measured: `${ends.toFixed(0)} / ${begins.toFixed(0)} MB = ${(ends / begins).toFixed(3)}`,
      bound: "<= 1.15",
      isMet: ends <= begins * 1.15,
      kind,
    },
  ];
};

const filesRow = (samples: readonly Sample[], life: number): Row[] => {
  const settled = samples.filter(({ atS }) => atS >= FIRST_S);
  if (settled.length < 12) return [];
  const part = Math.floor(settled.length / 4);
  const before = Math.min(...settled.slice(0, part).map(({ files }) => files));
  const after = Math.min(...settled.slice(-part).map(({ files }) => files));
  return [
    {
      name: `open files and sockets (life ${life})`,
      measured: `at least ${before} at first, ${after} at the end, at most ${largest(settled.map(({ files }) => files))}`,
      bound: `<= ${before + SPARE_FILES}`,
      isMet: after <= before + SPARE_FILES,
      kind: "hard",
    },
  ];
};

/** If the load grows because the machine cannot carry it, memory cannot be judged. */
const steadyRow = (samples: readonly Sample[]): Row => {
  const middle = median(samples.map(({ inFlight }) => inFlight));
  // Small counts vary at random: three times the spread of a count is still steady.
  const reach = Math.max(middle / 10, 3 * Math.sqrt(middle));
  const near = samples.filter(({ inFlight }) => Math.abs(inFlight - middle) <= reach).length / Math.max(1, samples.length);
  return {
    name: "the load was steady (if not: the machine was too busy to judge by)",
    measured: `${(near * 100).toFixed(0)} % of the looks within ${Math.round(reach)} of ${middle} in flight`,
    bound: `>= ${STEADY * 100} %`,
    isMet: near >= STEADY,
    kind: "hard",
  };
};

/** A figure without a measurement fails, timing or not. */
const timing = (name: string, value: number | null, bound: number, unit = "ms"): Row => ({
  name,
  measured: value === null ? "not measured" : `${value.toFixed(1)} ${unit}`,
  bound: `< ${bound} ${unit}`,
  isMet: value !== null && value < bound,
  kind: value === null ? "hard" : "timing",
});

const looksRow = (samples: readonly Sample[], lives: number): Row => ({
  name: "enough was looked at",
  measured: `${samples.length} looks in ${lives} ${lives === 1 ? "life" : "lives"} of the service`,
  bound: `>= ${LEAST_LOOKS} in ${LIVES}`,
  isMet: samples.length >= LEAST_LOOKS && lives >= LIVES,
  kind: "hard",
});

const none = (name: string, faults: readonly string[]): Row => ({
  name,
  measured: faults.length === 0 ? "none" : `${faults.length}: ${faults.slice(0, 3).join("; ")}`,
  bound: "none",
  isMet: faults.length === 0,
  kind: "hard",
});

/** All figures of a soak with their bounds. The timings are medians, over the samples of 10 s each, of the 99th percentile. */
export const verdictOf = (samples: readonly Sample[], facts: Facts): Row[] => {
  const lives = livesOf(samples);
  // After a restart a statechart stays on disk until an event arrives: fewer in memory are correct, more are not.
  const apart = samples.map(({ hosted, awake, inFlight, inFlightBefore }) => {
    const [least, most] = [Math.min(inFlight, inFlightBefore), Math.max(inFlight, inFlightBefore)];
    return Math.max(0, Math.max(hosted, awake) - most - SPARE_ACTORS, least - hosted - SPARE_ACTORS) / Math.max(1, inFlight);
  });
  const over = (name: "lagMs" | "postMs" | "readMs") => {
    // A sample without responses has no response time; an event loop without lag has the lag 0.
    const seen = samples.map((one) => one[name]).filter((ms) => ms > 0 || name === "lagMs");
    return seen.length === 0 ? null : median(seen);
  };
  return [
    {
      name: "the thirteen invariants hold",
      measured: facts.invariants.reported,
      bound: `${CHECKS.length} of ${CHECKS.length}`,
      isMet: facts.invariants.ok,
      kind: "hard",
    },
    none("no job was submitted twice", facts.twice),
    none("nothing that was acknowledged is lost", facts.lost),
    none("no generation outlived its job by a minute", facts.outlived),
    none("no generation failed and no answer was strange", facts.strange),
    none("the service logged no error", facts.faults),
    looksRow(samples, lives.length),
    steadyRow(samples),
    ...lives.flatMap((own, index) => memoryRows(own, index + 1)),
    ...lives.flatMap((own, index) => filesRow(own, index + 1)),
    {
      name: "generations hosted and actors in memory against generations in flight",
      measured: `${(largest(apart) * 100).toFixed(2)} % apart at most`,
      bound: "<= 1 %",
      isMet: largest(apart) <= 0.01,
      kind: "hard",
    },
    {
      name: "write-ahead log",
      measured: `${largest(samples.map(({ walMb }) => walMb)).toFixed(1)} MB at most`,
      bound: "< 64 MB",
      isMet: largest(samples.map(({ walMb }) => walMb)) < 64,
      kind: "hard",
    },
    timing(
      `ready after the kill with ${facts.inFlightAtKill} in flight`,
      facts.readyMs === null ? null : facts.readyMs / 1000,
      2,
      "s",
    ),
    timing("event loop lag, p99", over("lagMs"), 50),
    timing("POST, p99", over("postMs"), 100),
    timing("GET, p99", over("readMs"), 30),
  ];
};
