// Model of a generation, independent of the machine: what must hold of money, attempts and deadline after every event.
import type { Deadline, GenerationRecord, PlannedRoute } from "../../src/domain/types.ts";
import { COLLECT_MS, STARTED_AT_MS, WAIT_MS } from "../machine/explore.ts";

export const CREDITS = 10_000;
const WAIT_ENDS_AT_MS = STARTED_AT_MS + WAIT_MS;

/** Allowed changes of attempt states. A lost or capped attempt may still deliver. */
const BECOMES: Readonly<Record<string, readonly string[]>> = {
  none: ["intent"],
  // Includes an attempt that waits after a refusal to be sent again.
  intent: ["sending", "cancelled", "rejected"],
  sending: ["intent", "accepted", "rejected", "absent", "failed", "lost", "capped", "superseded", "cancelled"],
  accepted: ["delivered", "failed", "lost", "capped", "superseded", "mismatched"],
  lost: ["accepted", "delivered", "mismatched"],
  capped: ["accepted", "delivered", "mismatched"],
  // By an operator who knows that the job delivered.
  failed: ["accepted"],
};

/** States in which something is begun or sent next. */
const UNSENT: ReadonlySet<string> = new Set(["running.awaitingSlot", "running.submitting.intent", "running.backingOff"]);
/** Operator decisions that give an attempt up. */
const DECIDED = ["failedByOperator", "settledByOperator"];

/** The events that may lead to each attempt state: a sent attempt is never given up without proof or a deadline. */
const BY: Readonly<Record<string, readonly string[]>> = {
  delivered: ["collected"],
  absent: ["provedAbsent"],
  lost: ["meansExhausted", "attemptTimeEnded", ...DECIDED],
  capped: ["attemptTimeEnded"],
  rejected: ["rejected", "attemptTimeEnded", "cancelRequested"],
  failed: ["jobFailed", "resultLost", "collectTimeEnded"],
  superseded: ["collected"],
  mismatched: ["mismatched"],
};

/** The stored data of a generation. */
export type Seen = {
  record: Pick<GenerationRecord, "status" | "quotedCredits" | "reservedCredits" | "costCredits" | "attempts" | "completedAtMs">;
  commands: readonly Deadline[];
  attempts: readonly { n: number; state: string; price: number; route: string; watchUntilMs: number | null }[];
  transfers: readonly { kind: string; credits: number }[];
  account: { available: number; held: number; charged: number; inProgress: number };
};

type ModelEvent = { type: string; atMs: number; n?: number; atMost?: number };

/** Opens the model of one generation. */
export const openMachineModel = (plan: readonly PlannedRoute[]) => {
  const sentAtMs = new Map<number, number>();
  /** Counted from the first sending, or from an operator's retry or settlement. */
  const endsAtMs = new Map<number, number>();
  let isCancelRequested = false;
  const states = new Map<number, string>();
  let collectEndsAtMs = 0;
  let inHand = 0;
  let mismatches = 0;
  let leaf = "queued";
  let attempts = 0;
  const prices = plan.map(({ priceCredits }) => priceCredits);
  const reserved = Math.max(...prices);

  const isFetching = (state: string) => state.startsWith("running.collecting") || state === "running.confirming.result";
  /** The one deadline: the waiting time before the first sending, then the route's time, then the time to collect. */
  const deadlineOf = (n: number): Deadline | null => {
    if (leaf === "queued") return { kind: "start", n: 0, dueAtMs: WAIT_ENDS_AT_MS };
    if (leaf === "running.awaitingSlot") return { kind: "slot", n: 0, dueAtMs: WAIT_ENDS_AT_MS };
    if (leaf === "running.parked" || leaf === "succeeded" || leaf === "failed") return null;
    if (isFetching(leaf)) return { kind: "collect", n, dueAtMs: collectEndsAtMs };
    const dueAtMs = endsAtMs.get(n);
    if (dueAtMs === undefined) return { kind: "submit", n, dueAtMs: WAIT_ENDS_AT_MS };
    return { kind: "attempt", n, dueAtMs };
  };

  const moneyFaults = ({ record, transfers, attempts: rows, account }: Seen): string[] => {
    const faults: string[] = [];
    const text = transfers.map(({ kind, credits }) => `${kind} ${credits}`).join(", ");
    const cost = record.costCredits ?? 0;
    const rest = reserved - cost;
    const settled = [cost > 0 ? `capture ${cost}` : "", rest > 0 ? `release ${rest}` : ""].filter(Boolean);
    const isOver = record.completedAtMs !== null;
    const wanted = [`hold ${reserved}`, ...(isOver ? settled : [])].join(", ");
    if (text !== wanted) faults.push(`moved ${text}, not ${wanted}`);
    const balance = [account.available, account.held, account.charged, account.inProgress].join(" ");
    const due = isOver ? [CREDITS - cost, 0, cost, 0] : [CREDITS - reserved, reserved, 0, 1];
    if (balance !== due.join(" ")) faults.push(`the account has ${balance}, not ${due.join(" ")}`);
    const delivered = rows.filter(({ state }) => state === "delivered");
    const quotes = delivered.map(({ price }) => price).join(",");
    if (quotes !== (record.status === "succeeded" ? String(cost) : "")) faults.push(`delivered at ${quotes}, charged ${cost}`);
    if (record.reservedCredits !== reserved || record.quotedCredits !== Math.min(...prices))
      faults.push("quote or reserve changed");
    return faults;
  };

  const attemptFaults = ({ attempts: rows, record }: Seen, event: ModelEvent): string[] => {
    const faults: string[] = [];
    for (const { n, state, price, route, watchUntilMs } of rows) {
      if (state === "mismatched" && watchUntilMs !== null) faults.push(`attempt ${n} is watched although its result is known`);
      const before = states.get(n) ?? "none";
      if (before !== state && BY[state]?.includes(event.type) === false) faults.push(`attempt ${n} is ${state} by ${event.type}`);
      // After the waiting time no attempt begins, and none is sent for the first time.
      const isFirst = before === "none" || (state === "sending" && sentAtMs.get(n) === event.atMs);
      if (isFirst && event.atMs >= WAIT_ENDS_AT_MS) faults.push(`attempt ${n} is ${state} after the waiting time`);
      if (before !== state && !BECOMES[before]?.includes(state)) faults.push(`attempt ${n} went from ${before} to ${state}`);
      states.set(n, state);
      if (plan[n - 1]?.routeId !== route || plan[n - 1]?.priceCredits !== price) faults.push(`attempt ${n} is of another route`);
    }
    if (rows.filter(({ state }) => ["intent", "sending", "accepted"].includes(state)).length > 1)
      faults.push("two attempts are under way");
    if (rows.length !== record.attempts || record.attempts < attempts || record.attempts > plan.length)
      faults.push(`${record.attempts} attempts after ${attempts}, ${rows.length} rows, ${plan.length} routes`);
    attempts = record.attempts;
    return faults;
  };

  return {
    hasEnded: () => leaf === "succeeded" || leaf === "failed",
    /** Checks the result of an event. `n` is the current attempt afterwards, 0 for none. */
    stepped: (event: ModelEvent, leafAfter: string, n: number, seen: Seen): string[] => {
      const faults: string[] = [];
      if (leaf === "succeeded" || leaf === "failed") faults.push(`${leaf} became ${leafAfter}`);
      const wasFetching = isFetching(leaf);
      const isExtended = leaf === "running.collecting.stalled" && ["storageReturned", "collectTimeEnded"].includes(event.type);
      // Collecting files of another attempt has a separate deadline.
      const isOther = n !== inHand;
      inHand = n;
      const isDecided = event.type === "retriedByOperator" || event.type === "settledByOperator";
      if (isFetching(leafAfter) && (!wasFetching || isOther || isDecided || (isExtended && event.n === n)))
        collectEndsAtMs = event.atMs + COLLECT_MS;
      const timeoutMs = plan[n - 1]?.timeoutMs ?? 0;
      if (leafAfter === "running.submitting.sending" && !sentAtMs.has(n)) {
        sentAtMs.set(n, event.atMs);
        endsAtMs.set(n, event.atMs + timeoutMs);
      }
      // The time of an attempt that was sent begins again, also if it was rejected and is sent again.
      if (isDecided && sentAtMs.has(n)) endsAtMs.set(n, event.atMs + timeoutMs);
      if (isCancelRequested && UNSENT.has(leafAfter)) faults.push(`${leafAfter} after a cancel request`);
      isCancelRequested ||= event.type === "cancelRequested";
      if (event.type === "mismatched") mismatches += 1;
      const isEnough = event.type === "mismatched" && event.atMost !== undefined && mismatches >= event.atMost;
      if (isEnough && event.n !== n && leafAfter === "running.awaitingSlot" && leaf !== leafAfter)
        faults.push(`another route is tried after ${mismatches} mismatches, and ${event.atMost} are allowed`);
      leaf = leafAfter;
      const status = leaf.split(".")[0];
      if (seen.record.status !== status) faults.push(`the status is ${seen.record.status} in ${leaf}`);
      const wanted = deadlineOf(n);
      const deadlines = JSON.stringify(seen.commands);
      if (deadlines !== JSON.stringify(wanted ? [wanted] : []))
        faults.push(`waits for ${deadlines}, not ${JSON.stringify(wanted)}`);
      return [...faults, ...moneyFaults(seen), ...attemptFaults(seen, event)];
    },
  };
};
