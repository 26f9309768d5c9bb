// Events of one generation: its history from the beginning, or after a position, and then each further change until its end.
import type { GenerationRecord } from "../domain/types.ts";
import type { StoreReads } from "../store/store.ts";
import { eventIdOf } from "../webhooks/payload.ts";
import { type HistoryEvent, historyOf } from "./history.ts";
import { sseEvent, type Taken } from "./stream.ts";

export type GenerationEventsDeps = {
  reads: Pick<StoreReads, "eventsOf" | "generationBySeq">;
  /** The JSON of a generation, as a poll shows it. */
  resourceOf: (record: GenerationRecord) => string;
};
type Generation = Pick<GenerationRecord, "id" | "seq">;

/** Stored events are read first, so that the record is as new or newer. */
export const readHistory = async (reads: GenerationEventsDeps["reads"], seq: number): Promise<HistoryEvent[]> => {
  const stored = await reads.eventsOf(seq);
  const record = await reads.generationBySeq(seq);
  if (record === undefined) throw new Error(`there is no generation ${seq}`);
  return historyOf(record, stored);
};

export const isEnd = ({ type }: Pick<HistoryEvent, "type">): boolean =>
  type === "generation.succeeded" || type === "generation.failed";

/** The event after which a client resumes. `isOver`: no event follows, ever. Null if the generation has no event with this id. */
export const findPosition = async (
  reads: GenerationEventsDeps["reads"],
  { id, seq }: Generation,
  lastEventId: string,
): Promise<{ sequence: number; isOver: boolean } | null> => {
  const found = (await readHistory(reads, seq)).find(({ sequence }) => eventIdOf(id, sequence) === lastEventId);
  return found === undefined ? null : { sequence: found.sequence, isOver: isEnd(found) };
};

/** @param after the sequence of the last event that the client has; -1 for none */
export const createGenerationEvents = ({ reads, resourceOf }: GenerationEventsDeps, { id, seq }: Generation, after: number) => {
  let last = after;
  return {
    take: async (): Promise<Taken> => {
      const events = (await readHistory(reads, seq)).filter(({ sequence }) => sequence > last);
      last = events.at(-1)?.sequence ?? last;
      const text = events.map(({ sequence, type, record }) =>
        sseEvent({ id: eventIdOf(id, sequence), type, data: resourceOf(record) }),
      );
      return { text: text.join(""), isOver: events.some(isEnd) };
    },
  };
};
