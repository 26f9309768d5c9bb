// Defines a bench: two sides, their work, and the ratio of their figures.

/** The figures of all rounds of a side: median, minimum, maximum, and each round. */
export type Spread = { median: number; least: number; most: number; each: readonly number[] };

type Ends = Pick<Spread, "least" | "most">;

/**
 * A ratio with its target. `ratio` is ours to the other's, whichever direction is better; for rounds it is the median of the
 * ratios of the same round, so that a temporarily slow machine affects both sides.
 */
export type Result = {
  name: string;
  ours: number;
  other: number;
  ratio: number;
  target: number;
  /** Whether the target is a lower or an upper bound of the ratio. */
  wants: "at least" | "at most";
  met: boolean;
  /** The unit of `ours` and `other`. */
  unit: string;
  /** Short descriptions of both sides. */
  sides: string;
  /** The minimum and maximum of the rounds. */
  spread?: { ours: Ends; other: Ends };
  /** CPU time per request, µs, as an additional figure. */
  cpuUs?: { ours: number; other: number };
  /** The share of its core that the load used. */
  share?: { ours: number; other: number };
  /** Informational: no target, and no result fails the program. */
  isNote?: true;
};

export type Env = {
  /** Fewer rounds and fewer rows, the same sides. */
  isShort: boolean;
  /** The number of rounds of each side, and their duration, ms. */
  rounds: number;
  roundMs: number;
  /** The number of process starts in benches that measure starts. */
  starts: number;
  /** The same for rounds of whole generations, each of which begins and ends with nothing in flight. */
  lives: { rounds: number; roundMs: number; warmAtMostMs: number };
  /** A directory with another ladder, whose ceiling is compared with ours. */
  yardstick?: string;
  /** An earlier build, for the bench that compares with it. */
  before?: string;
  /** Prints the progress. */
  report: (line: string) => void;
  /** Records a part of the bench that was unavailable, beside the results of the others. */
  skip: (part: string, reason: string) => void;
};

export type Bench = {
  name: string;
  /** The compared sides, for the list and for `--help`. */
  compares: string;
  run: (env: Env) => Promise<Result[]>;
  /** Informational (no target): short runs skip it unless it is named. */
  isInformational?: true;
  /** A required option of the command line. */
  needs?: "before";
  /** Other load on the machine changes only its duration. */
  isPatient?: true;
  /** Downloads what it needs in advance, while a patient bench runs. The bench itself reports a failure later. */
  fetches?: (report: (line: string) => void) => Promise<void>;
  /** The number of ended generations that it needs in a stocked directory. */
  takesEnded?: (isShort: boolean) => number;
};

/**
 * In a short run a ratio near its target has more rounds than the others: `times` as many, and for whole generations `times`
 * more. In a long run all have enough.
 */
export const closely = (env: Env, times = 2): Env => {
  const more = env.isShort ? times : 1;
  return {
    ...env,
    rounds: env.rounds * more,
    lives: { ...env.lives, rounds: env.isShort ? env.lives.rounds + times : env.lives.rounds },
  };
};

/** Thrown if a figure cannot be measured here; the reason is printed, and the program fails if `isFault`. */
export class Skipped extends Error {
  readonly isFault: boolean = true;
}
/** Thrown if a peer is unavailable on this machine. */
export class NoPeer extends Skipped {
  override readonly isFault = false;
}

export const spreadOf = (values: readonly number[]): Spread => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle] : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
  return { median: median ?? Number.NaN, least: sorted[0] ?? Number.NaN, most: sorted.at(-1) ?? Number.NaN, each: values };
};

type Held = Pick<Result, "name" | "unit" | "sides" | "target" | "wants"> & Pick<Partial<Result>, "cpuUs" | "share" | "isNote">;

const medianOf = (of: Spread | number): number => (typeof of === "number" ? of : of.median);
const ratioOf = (ours: Spread | number, other: Spread | number): number => {
  const areNeighbours = typeof ours !== "number" && typeof other !== "number" && ours.each.length === other.each.length;
  if (!areNeighbours) return medianOf(ours) / medianOf(other);
  const ratios = ours.each.map((one, at) => one / (other.each[at] ?? Number.NaN));
  // A round in which a side did nothing has no ratio and is excluded; a ratio that is no number meets no target.
  return ratios.every(Number.isFinite) ? spreadOf(ratios).median : Number.NaN;
};

/** Compares the figures of both sides with the target of their ratio. */
export const hold = (held: Held, ours: Spread | number, other: Spread | number): Result => {
  const [mine, theirs] = [medianOf(ours), medianOf(other)];
  const ratio = ratioOf(ours, other);
  const met = held.wants === "at least" ? ratio >= held.target : ratio <= held.target;
  const ends = ({ least, most }: Spread) => ({ least, most });
  const spread =
    typeof ours === "number" || typeof other === "number" ? {} : { spread: { ours: ends(ours), other: ends(other) } };
  return { ...held, ours: mine, other: theirs, ratio, met, ...spread };
};
