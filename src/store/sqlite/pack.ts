// Deeds and outcomes as text: how a batch crosses to the writing thread, with every large part made into JSON once.

import type { AdmitDeed, Deed, DeedOutcome, OfficeDeed, StepDeed } from "../../deeds.ts";
import { once } from "../../once.ts";
import type { GenerationRecord } from "../../terms.ts";

/** An admission whose large parts are JSON already: they go into their columns as they are and are never parsed. */
export type PackedAdmit = Omit<AdmitDeed, "input" | "plan"> & {
  rawJson: string;
  addedJson: string;
  planJson: string;
};
/** A step whose event is JSON already, as its journal keeps it. */
export type PackedStep = Omit<StepDeed, "event"> & { eventJson: string };
export type PackedDeed = PackedAdmit | PackedStep | OfficeDeed;

/** A plan is shared by the submissions that have it, and is printed once. */
const printedPlan = once((plan: AdmitDeed["plan"]): string => JSON.stringify(plan));

const largePartsOf = ({ input, plan }: AdmitDeed): Pick<PackedAdmit, "rawJson" | "addedJson" | "planJson"> => ({
  rawJson: JSON.stringify(input.raw),
  addedJson: JSON.stringify(input.added),
  planJson: printedPlan(plan),
});

export const pack = (deed: Deed): PackedDeed => {
  if (deed.deed === "step") {
    const { event, ...rest } = deed;
    return { ...rest, eventJson: JSON.stringify(event) };
  }
  if (deed.deed !== "admit") return deed;
  const { input: _, plan: __, ...rest } = deed;
  return { ...rest, ...largePartsOf(deed) };
};

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

const STEP = '{"deed":"step"';
/** The event and the snapshot go as they are: put inside the JSON of the step they would be escaped here and read again there. */
const stepLines = ({ deed, event, snapshot, ...rest }: StepDeed): string =>
  `${JSON.stringify({ deed, ...rest })}\n${JSON.stringify(event)}\n${snapshot ?? ""}\n`;

/**
 * JSON never holds a raw line feed, so lines need no escaping: an admission is four lines (`[…`), a step three, any other deed one
 * (`{…`). A plan that is the one of the admission before it is an empty line.
 */
export const toLines = (deeds: readonly Deed[]): string => {
  let text = "";
  let planBefore = "";
  for (const deed of deeds) {
    if (deed.deed !== "admit") {
      text += deed.deed === "step" ? stepLines(deed) : `${JSON.stringify(deed)}\n`;
      continue;
    }
    const line: AdmitLine = [
      deed.seq,
      deed.id,
      deed.accountSeq,
      deed.keySeq,
      deed.model,
      deed.idempotencyKey,
      deed.bodyHash,
      deed.quotedCredits,
      deed.reservedCredits,
      deed.maxCostCredits,
      deed.inProgressLimit,
      deed.createdAtMs,
      deed.waitEndsAtMs,
      deed.requestId,
    ];
    const { rawJson, addedJson, planJson } = largePartsOf(deed);
    text += `${JSON.stringify(line)}\n${planJson === planBefore ? "" : planJson}\n${rawJson}\n${addedJson}\n`;
    planBefore = planJson;
  }
  return text;
};

const toAdmit = (line: AdmitLine, planJson: string, rawJson: string, addedJson: string): PackedAdmit => ({
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
  addedJson,
});

export const fromLines = (text: string): PackedDeed[] => {
  const lines = text.split("\n");
  const deeds: PackedDeed[] = [];
  let planJson = "";
  for (let i = 0; i < lines.length - 1; i++) {
    const line = lines[i] ?? "";
    const part = (n: number): string => lines[i + n] ?? "";
    if (line.startsWith(STEP)) {
      const step = JSON.parse(line) as Omit<PackedStep, "eventJson" | "snapshot">;
      deeds.push({ ...step, eventJson: part(1), snapshot: part(2) || null });
      i += 2;
      continue;
    }
    if (line.startsWith("{")) {
      deeds.push(JSON.parse(line) as OfficeDeed);
      continue;
    }
    planJson = part(1) || planJson;
    deeds.push(toAdmit(JSON.parse(line) as AdmitLine, planJson, part(2), part(3)));
    i += 3;
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
