// Reads the transfers of an account forward, although each transfer names only the one before it.
//
// A client that is far behind needs the oldest transfers first. The chain is read backwards once, in bounded reads, and only the
// row number at the end of each page is kept. Each page is then read when its client is ready for it.
import type { StoreReads, TransferRow } from "../store/store.ts";

/** How many transfers of the account a position may lie behind the newest one. */
export const MAX_BEHIND = 10_000;
/** Transfers of a page. A stream keeps at most `MAX_BEHIND / PAGE` row numbers. */
const PAGE = 100;
/** Transfers of one read backwards: the newest ones, which are enough for a client that keeps up, and further ones. */
const NEWEST = 20;
const STEP = 500;

type Reads = Pick<StoreReads, "transfers">;
/** `transfers`: oldest first. `hasMore`: a further page follows. */
type Page = { transfers: readonly TransferRow[]; hasMore: boolean };

/** The number of the newest transfer of an account; 0 if it has none. */
export const newestTransferNo = async (reads: Reads, accountId: string): Promise<number> =>
  (await reads.transfers(accountId, null, 1))[0]?.chainSeq ?? 0;

export class TransferPages {
  private readonly reads: Reads;
  private readonly accountId: string;
  /** Row numbers of the transfers that begin the pages after the next one, the nearest last. */
  private ends: number[] = [];

  constructor(reads: Reads, accountId: string) {
    this.reads = reads;
    this.accountId = accountId;
  }

  /**
   * The next page. @param transferNo the number of the last transfer of the previous page
   * @throws if more than `MAX_BEHIND` transfers follow it
   */
  async after(transferNo: number): Promise<Page> {
    if (this.ends.length === 0) {
      const all = await this.readNewest(transferNo);
      if (all !== null) return { transfers: all.reverse(), hasMore: false };
    }
    const end = this.ends.at(-1) ?? null;
    const page = await this.reads.transfers(this.accountId, end, PAGE);
    // Not before, so that a read that failed is repeated.
    this.ends.pop();
    return { transfers: page.reverse(), hasMore: true };
  }

  /** Reads the transfers after a number, newest first, if they are one page; else finds the ends of the pages (null). */
  private async readNewest(transferNo: number): Promise<TransferRow[] | null> {
    const newest = await this.reads.transfers(this.accountId, null, NEWEST);
    const behind = (newest[0]?.chainSeq ?? 0) - transferNo;
    if (behind > MAX_BEHIND) throw new Error("the client reads too slowly");
    const last = newest.at(-1);
    if (last === undefined || behind <= newest.length) return newest.slice(0, Math.max(0, behind));
    if (behind <= PAGE) return [...newest, ...(await this.reads.transfers(this.accountId, last.seq, behind - newest.length))];
    this.ends = await this.findEnds(newest, transferNo);
    return null;
  }

  private async findEnds(newest: readonly TransferRow[], transferNo: number): Promise<number[]> {
    const ends: number[] = [];
    for (let read = newest; ; ) {
      for (const { seq, chainSeq } of read)
        if (chainSeq > transferNo + PAGE && (chainSeq - transferNo) % PAGE === 1) ends.push(seq);
      const last = read.at(-1);
      if (last === undefined || last.chainSeq <= transferNo + PAGE + 1) return ends;
      read = await this.reads.transfers(this.accountId, last.seq, STEP);
    }
  }
}
