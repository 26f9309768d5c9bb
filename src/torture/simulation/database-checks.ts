// Checks of a world's database, independent of its nodes: ends, invariants and deadlines.

import type { GenerationRecord } from "../../domain/types.ts";
import type { StoreReads } from "../../store/store.ts";

const MINUTE_MS = 60_000;

/** Every generation of the database, as a poll would return it. */
export const readEnds = async (reads: StoreReads): Promise<Map<string, GenerationRecord>> => {
  const ends = new Map<string, GenerationRecord>();
  for (const account of await reads.accounts())
    for (const { kind, generationId } of await reads.transfers(account.id, null, 1_000_000)) {
      const record = kind === "hold" && generationId !== null ? await reads.generationById(generationId, account.seq) : undefined;
      if (record) ends.set(record.id, record);
    }
  return ends;
};

/** A check for databases with one owner; for a shared database the ownership oracle replaces it. */
const OF_ONE_OWNER = "an epoch wrote after its successor";

/** Parked generations, which an operator resolves during quiescing at the latest. */
const PARKED = "parked:";

/** Checks the thirteen invariants on the current disk. */
export const verifyDisk = async (of: {
  reads: StoreReads;
  nowMs: number | null;
  isShared: boolean;
  isPeace: boolean;
  fault: (text: string) => void;
}): Promise<void> => {
  const isExpected = (text: unknown) =>
    (of.isShared && text === OF_ONE_OWNER) || (!of.isPeace && String(text).startsWith(PARKED));
  for (const { invariant, name, offending } of await of.reads.verify(of.nowMs)) {
    const [first] = offending.filter((one) => !isExpected(one.fault));
    if (first) of.fault(`invariant ${invariant}, ${name}: ${JSON.stringify(first)}`);
  }
};

/** A healthy node has no overdue deadline. Each minute only this invariant is checked. */
export const verifyOverdue = async (reads: StoreReads, nowMs: number, fault: (text: string) => void): Promise<void> => {
  const overdue = (await reads.unfinished(0, 1000)).filter(
    ({ deadline }) => deadline !== null && deadline.kind !== "start" && deadline.dueAtMs < nowMs - MINUTE_MS,
  );
  for (const { id, deadline } of overdue)
    fault(`${id}: overdue since ${nowMs - (deadline?.dueAtMs ?? 0)} ms (${deadline?.kind})`);
};
