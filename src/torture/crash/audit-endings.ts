// Audits the cancellations and deletions of a crash run: an acknowledged one is stored, and nothing happens without one.
import type { Audit, Evidence } from "./audit.ts";
import type { ClientLine } from "./client-log.ts";
import type { Stored } from "./read-store.ts";

type Ending = Extract<ClientLine, { type: "cancel" | "delete" }>;

/** Events after which an attempt exists, or its request is sent. */
const BEGINS: ReadonlySet<string> = new Set(["begun", "slotTaken", "woken"]);
/**
 * With several nodes a cancellation is stored for the owner of the generation, which may end it otherwise before it reads the
 * cancellation. A generation that ends later than this was not cancelled although it could have been.
 */
const UNREAD_MS = 20_000;

const endingsOf = ({ client }: Evidence, type: Ending["type"]): Map<string, Ending[]> =>
  Map.groupBy(
    client.filter((line): line is Ending => line.type === type),
    ({ id }) => id,
  );
const isCancelled = ({ status, error }: Stored): boolean => status === "failed" && error?.code === "cancelled";

const cancelFaults = (one: Stored, cancels: readonly Ending[], isShared: boolean): string[] => {
  const at = one.events.findIndex(({ event }) => event.type === "cancelRequested");
  const faults = one.events
    .slice(at === -1 ? one.events.length : at + 1)
    .filter(({ event }) => BEGINS.has(event.type) || event.type === "cancelRequested")
    .map(({ event }) => `${one.id}: ${event.type} after its cancellation`);
  const acknowledged = cancels.find(({ status }) => status === 200);
  const mayBeUnread = isShared && (one.completedAtMs ?? Number.POSITIVE_INFINITY) <= (acknowledged?.atMs ?? 0) + UNREAD_MS;
  if (acknowledged && at === -1 && !mayBeUnread) faults.push(`${one.id}: a cancellation was acknowledged, and is not stored`);
  if (isCancelled(one) && cancels.some(({ code }) => code === "already_ended"))
    faults.push(`${one.id}: cancelled, and answered already_ended`);
  if (cancels.length === 0 && (at !== -1 || isCancelled(one))) faults.push(`${one.id}: cancelled without a request`);
  return faults;
};

const cancelsAreKept: Audit = (evidence, fault) => {
  const cancels = endingsOf(evidence, "cancel");
  for (const one of evidence.stored)
    for (const text of cancelFaults(one, cancels.get(one.id) ?? [], evidence.isShared === true)) fault(text);
};

const deletionsAreKept: Audit = (evidence, fault) => {
  const deletions = endingsOf(evidence, "delete");
  for (const { id, erasedAtMs, hasText } of evidence.stored) {
    const requests = deletions.get(id) ?? [];
    if (erasedAtMs === null && requests.some(({ status }) => status === 200))
      fault(`${id}: its deletion was acknowledged, and is not stored`);
    if (erasedAtMs !== null && requests.length === 0) fault(`${id}: deleted without a request`);
    if (hasText) fault(`${id}: deleted, and its request or result is stored`);
  }
};

export const ENDING_AUDITS: readonly (readonly [string, Audit])[] = [
  ["an acknowledged cancellation is stored, no attempt begins after it, and nothing is cancelled without one", cancelsAreKept],
  ["an acknowledged deletion is stored and leaves no text, and nothing is deleted without one", deletionsAreKept],
];
