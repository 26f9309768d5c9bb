// Registry of parked and stopped generations for the log, a gauge and an alert.

import type { GenerationRecord } from "../domain/types.ts";
import type { Log } from "../logging/events.ts";

/** `parked`: it waits for an operator. `stopped`: this process cannot continue it; the next start or another node does. */
export type StuckWhy = "parked" | "stopped";

export type Stuck = {
  parked(record: Pick<GenerationRecord, "seq" | "id" | "requestId">): void;
  /** A former process parked it and logged that. */
  foundParked(seq: number): void;
  stopped(seq: number, id: string, reason: string): void;
  /** It continues or has ended. */
  remove(seq: number): void;
  count(why: StuckWhy): number;
};

export const createStuck = (log: Log): Stuck => {
  const all = new Map<number, StuckWhy>();
  return {
    parked: ({ seq, id, requestId }) => {
      // A late response or a cancel request leaves it parked.
      if (all.get(seq) === "parked") return;
      all.set(seq, "parked");
      const action = `genrouter generations parked prints the reason; genrouter generations settle, fail or retry ${id} resolves it`;
      log("generation parked", { generation_id: id, request_id: requestId, action });
    },
    foundParked: (seq) => void all.set(seq, "parked"),
    stopped: (seq, id, reason) => {
      all.set(seq, "stopped");
      log("generation stopped", { generation_id: id, reason });
    },
    remove: (seq) => void all.delete(seq),
    count: (why) => [...all.values()].filter((one) => one === why).length,
  };
};
