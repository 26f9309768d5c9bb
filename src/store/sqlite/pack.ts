// Deeds and outcomes as text: how a batch crosses to the writing thread, with every large part made into JSON once.
import type { AdmitDeed, Deed, DeedOutcome, OfficeDeed, StepDeed } from "../../deeds.ts";
import type { GenerationRecord, Json, JsonObject } from "../../terms.ts";

/** An admission whose large parts are JSON already: they go into their columns as they are and are never parsed. */
export type PackedAdmit = Omit<AdmitDeed, "input" | "plan"> & {
  rawJson: string;
  /** What the defaults added to the input, null when nothing; or the whole input with defaults where they did more. */
  addedJson: string | null;
  filledJson: string | null;
  planJson: string;
};
export type PackedDeed = PackedAdmit | StepDeed | OfficeDeed;

export const pack = (deed: Deed): PackedDeed => {
  if (deed.deed !== "admit") return deed;
  const { input, plan, ...rest } = deed;
  const added = addedTo(input.raw, input.filled);
  return {
    ...rest,
    rawJson: JSON.stringify(input.raw),
    addedJson: added && Object.keys(added).length > 0 ? JSON.stringify(added) : null,
    filledJson: added ? null : JSON.stringify(input.filled),
    planJson: JSON.stringify(plan),
  };
};

/**
 * What `filled` has after the members of `raw`, when it begins with exactly those, in their order; undefined otherwise.
 * A prompt of 30,000 characters is then stored once, and `{ ...raw, ...added }` gives `filled` back byte for byte.
 */
const addedTo = (raw: JsonObject, filled: JsonObject): JsonObject | undefined => {
  const names = Object.keys(raw);
  const all = Object.keys(filled);
  for (const [i, name] of names.entries()) if (all[i] !== name || !isSame(raw[name], filled[name])) return undefined;
  return Object.fromEntries(all.slice(names.length).map((name) => [name, filled[name] ?? null]));
};
const isSame = (a: Json | undefined, b: Json | undefined): boolean =>
  a === b || (typeof a === "object" && JSON.stringify(a) === JSON.stringify(b));

/** What polls will read of a generation that was just admitted. */
export const admittedRecord = (deed: AdmitDeed | PackedAdmit): GenerationRecord => ({
  seq: deed.seq,
  id: deed.id,
  accountSeq: deed.accountSeq,
  model: deed.model,
  status: "queued",
  message: null,
  quotedCredits: deed.quotedCredits,
  reservedCredits: deed.reservedCredits,
  costCredits: null,
  attempts: 0,
  error: null,
  output: null,
  createdAtMs: deed.createdAtMs,
  completedAtMs: null,
  filesExpiredAtMs: null,
});

/** Scalars of an admission in the order of its line; the large parts follow, a line each. */
type AdmitLine = [
  seq: number,
  id: string,
  accountSeq: number,
  keySeq: number,
  model: string,
  idempotencyKey: string | null,
  bodyHash: string,
  quotedCredits: number,
  reservedCredits: number,
  maxCostCredits: number,
  inProgressLimit: number,
  createdAtMs: number,
  waitEndsAtMs: number,
  requestId: string,
];

/** JSON never holds a raw line feed, so lines need no escaping: an admission is five lines (`[…`), any other deed one (`{…`). */
export const toLines = (deeds: readonly Deed[]): string => {
  let text = "";
  for (const deed of deeds) {
    if (deed.deed !== "admit") {
      text += `${JSON.stringify(deed)}\n`;
      continue;
    }
    const d = pack(deed) as PackedAdmit;
    const line: AdmitLine = [
      d.seq,
      d.id,
      d.accountSeq,
      d.keySeq,
      d.model,
      d.idempotencyKey,
      d.bodyHash,
      d.quotedCredits,
      d.reservedCredits,
      d.maxCostCredits,
      d.inProgressLimit,
      d.createdAtMs,
      d.waitEndsAtMs,
      d.requestId,
    ];
    text += `${JSON.stringify(line)}\n${d.planJson}\n${d.rawJson}\n${d.addedJson ?? ""}\n${d.filledJson ?? ""}\n`;
  }
  return text;
};

const toAdmit = (line: AdmitLine, planJson: string, rawJson: string, added: string, filled: string): PackedAdmit => ({
  deed: "admit",
  seq: line[0],
  id: line[1],
  accountSeq: line[2],
  keySeq: line[3],
  model: line[4],
  idempotencyKey: line[5],
  bodyHash: line[6],
  quotedCredits: line[7],
  reservedCredits: line[8],
  maxCostCredits: line[9],
  inProgressLimit: line[10],
  createdAtMs: line[11],
  waitEndsAtMs: line[12],
  requestId: line[13],
  planJson,
  rawJson,
  addedJson: added === "" ? null : added,
  filledJson: filled === "" ? null : filled,
});

export const fromLines = (text: string): PackedDeed[] => {
  const lines = text.split("\n");
  const deeds: PackedDeed[] = [];
  for (let i = 0; i < lines.length - 1; i++) {
    const line = lines[i] ?? "";
    if (line.startsWith("{")) {
      deeds.push(JSON.parse(line) as StepDeed | OfficeDeed);
      continue;
    }
    const part = (n: number): string => lines[i + n] ?? "";
    deeds.push(toAdmit(JSON.parse(line) as AdmitLine, part(1), part(2), part(3), part(4)));
    i += 4;
  }
  return deeds;
};

/** Outcomes back: an admission is a 0, because the sender can make its record from the deed. */
export const outcomesToText = (outcomes: readonly DeedOutcome[]): string =>
  JSON.stringify(outcomes.map((outcome) => (outcome.kind === "admitted" ? 0 : outcome)));

export const outcomesFromText = (text: string, deeds: readonly Deed[]): DeedOutcome[] =>
  (JSON.parse(text) as (0 | DeedOutcome)[]).map((outcome, i) => {
    if (outcome !== 0) return outcome;
    const deed = deeds[i];
    if (deed?.deed !== "admit") throw new Error("an outcome does not belong to its deed");
    return { kind: "admitted", record: admittedRecord(deed) };
  });
