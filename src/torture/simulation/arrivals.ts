// Checks each submission that arrives at its provider against the store.
//
// Its attempt must be on disk, and no other attempt may be in progress.
import { seqOfGenerationId } from "../../domain/ids.ts";
import type { StoreReads } from "../../store/store.ts";
import type { Arrival } from "./upstream.ts";

const UNDER_WAY: ReadonlySet<string> = new Set(["intent", "sending", "accepted"]);

/** Events that resume an attempt: a late delivery, or an operator's settlement. */
const RETAKEN: ReadonlySet<string> = new Set(["announced", "settledByOperator"]);

/** Reads the disk at the moment of the arrival, independently of all nodes. Returns the faults. */
export const judgeArrival = async (reads: StoreReads, { ref, isQuestion, verdict }: Arrival): Promise<string[]> => {
  const seq = seqOfGenerationId(`gen_${ref.slice(0, ref.lastIndexOf("-"))}`) ?? -1;
  const n = Number(ref.slice(ref.lastIndexOf("-") + 1));
  const attempts = await reads.attemptsOf(seq);
  const mine = attempts.find((attempt) => attempt.n === n);
  if (!mine || mine.request === null || mine.sentAtMs === null) return [`${ref}: arrived at its provider before it was on disk`];
  const faults: string[] = [];
  const [unfinished] = await reads.unfinished(seq - 1, 1);
  // After a refusal the same attempt is sent again; only its first submission must be in time.
  const events = await reads.eventsOf(seq);
  const sendings = events.filter(({ event }) => event.type === "slotTaken" && event.n === n).length;
  if (sendings === 1 && unfinished?.seq === seq && mine.sentAtMs > unfinished.waitEndsAtMs)
    faults.push(`${ref}: first sent after max_wait_s was over`);
  if (
    mine.priceCredits !== unfinished?.plan.find(({ routeId }) => routeId === mine.route.routeId)?.priceCredits &&
    unfinished?.seq === seq
  )
    faults.push(`${ref}: its price is not the one it was planned at`);
  if (isQuestion && verdict === "accepted" && mine.state !== "sending")
    faults.push(`${ref}: asking about it bought a job when it was ${mine.state}`);
  // An abandoned attempt that delivers late is resumed. A request that was sent before may still arrive afterwards.
  const sentAt = events.findLastIndex(({ event }) => event.type === "slotTaken" && event.n === n);
  const isBack = (other: number) => events.slice(sentAt).some(({ event }) => RETAKEN.has(event.type) && event.n === other);
  for (const other of attempts)
    if (other.n < n && UNDER_WAY.has(other.state) && !isBack(other.n))
      faults.push(`${ref}: sent while attempt ${other.n} was still ${other.state}`);
  return faults;
};
