// What a bench is: two sides, what each of them does, and the ratio of what was measured that counts.

/** Of all rounds of a side: the median, the ends, and each in its turn. */
export type Spread = { median: number; least: number; most: number; each: readonly number[] };

type Ends = Pick<Spread, "least" | "most">;

/**
 * A ratio held against its target. `ratio` is ours to the other's, whichever way of the two is the better one; of rounds it is the median
 * of the ratios of the same round, so that a machine which is slow for a while is slow for both.
 */
export type Result = {
  name: string;
  ours: number;
  other: number;
  ratio: number;
  target: number;
  /** Whether the target is a floor or a ceiling of the ratio. */
  wants: "at least" | "at most";
  met: boolean;
  /** Of `ours` and `other`. */
  unit: string;
  /** What both sides were, in a few words. */
  sides: string;
  /** The least and the most of the rounds. */
  spread?: { ours: Ends; other: Ends };
  /** CPU time per request, µs, where it is a figure beside the one that counts. */
  cpuUs?: { ours: number; other: number };
  /** How much of its own core the load had, as a share of it. */
  share?: { ours: number; other: number };
  /** Only told, not held against anything: no result of it fails the program. */
  isNote?: true;
};

export type Env = {
  /** Fewer rounds and fewer rows, the same sides. */
  isShort: boolean;
  /** How many rounds each side plays, and for how long each, ms. */
  rounds: number;
  roundMs: number;
  /** How often a process is started where starts are what is measured. */
  starts: number;
  /** The same of rounds of whole generations, each of which begins and ends with nothing in flight. */
  lives: { rounds: number; roundMs: number; warmAtMostMs: number };
  /** A directory with a ladder whose ceiling ours is held against. */
  yardstick?: string;
  /** A build of before, for the bench that compares with it. */
  before?: string;
  /** Shows how far it is. */
  tell: (line: string) => void;
  /** Puts down a part of the bench that could not be had, beside the results of the others. */
  skip: (part: string, reason: string) => void;
};

export type Bench = {
  name: string;
  /** Which of the two is which, for the list and for `--help`. */
  compares: string;
  run: (env: Env) => Promise<Result[]>;
  /** Nothing of it is held against a target: short runs leave it out, unless it is asked for. */
  isTold?: true;
  /** A word of the command line without which it cannot be run. */
  needs?: "before";
  /** What else the machine does meanwhile changes nothing but how long it takes. */
  isPatient?: true;
  /** Fetches what it needs from elsewhere: done ahead, while a patient one runs. What fails there, the bench tells in its turn. */
  fetches?: (tell: (line: string) => void) => Promise<void>;
  /** How many that have ended it takes from what may be stocked ahead. */
  takesEnded?: (isShort: boolean) => number;
};

/**
 * In a short run a ratio near its target has more rounds than the others: `times` as many, and of whole lives `times` more. In a long one
 * all have enough.
 */
export const closely = (env: Env, times = 2): Env => {
  const more = env.isShort ? times : 1;
  return {
    ...env,
    rounds: env.rounds * more,
    lives: { ...env.lives, rounds: env.isShort ? env.lives.rounds + times : env.lives.rounds },
  };
};

/** Could not be measured here; the reason is told, and the program fails where `isFault`. */
export class Skipped extends Error {
  readonly isFault: boolean = true;
}
/** A peer that cannot be had on this machine. */
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
  // A round in which a side did nothing has no ratio and no place among the others; what is no number meets no target.
  return ratios.every(Number.isFinite) ? spreadOf(ratios).median : Number.NaN;
};

/** Holds what was measured of both sides against the target of their ratio. */
export const hold = (held: Held, ours: Spread | number, other: Spread | number): Result => {
  const [mine, theirs] = [medianOf(ours), medianOf(other)];
  const ratio = ratioOf(ours, other);
  const met = held.wants === "at least" ? ratio >= held.target : ratio <= held.target;
  const ends = ({ least, most }: Spread) => ({ least, most });
  const spread =
    typeof ours === "number" || typeof other === "number" ? {} : { spread: { ours: ends(ours), other: ends(other) } };
  return { ...held, ours: mine, other: theirs, ratio, met, ...spread };
};
