// Streams the transfers of a file to the chain walk, in one unsorted pass.
import type { Database } from "bun:sqlite";
import { CHAIN_ACCOUNTS, CHAIN_FAULTS, type ChainAccount, type ChainRow, createChainWalk } from "../../sql/verify/chain.ts";
import type { Runnable } from "./check.ts";

/** The holds of the view `transfer_log`, in the order of their generations. */
const HOLDS = `SELECT -seq AS seq, account_seq, hold_transfer_no AS transfer_no, hold_previous_seq AS previous_seq, 'hold' AS kind,
  reserved_credits AS credits, 'available' AS from_side, 'held' AS to_side, seq AS generation_seq, NULL AS attempt_no,
  hold_available_after AS available_after, hold_held_after AS held_after, created_at_ms AS at_ms, NULL AS note, hold_hash AS hash
  FROM generation ORDER BY seq`;

/** Holds and transfers approximately in the order in which they were written; the walk buffers the exceptions. */
const inOrder = function* (db: Database): Generator<ChainRow> {
  const holds = db.query<ChainRow, []>(HOLDS).iterate();
  const transfers = db.query<ChainRow & { after_generation_seq: number }, []>("SELECT * FROM transfer ORDER BY seq").iterate();
  let [hold, transfer] = [holds.next(), transfers.next()];
  while (!hold.done || !transfer.done)
    if (!hold.done && (transfer.done || (hold.value.generation_seq ?? 0) <= transfer.value.after_generation_seq)) {
      yield hold.value;
      hold = holds.next();
    } else if (!transfer.done) {
      yield transfer.value;
      transfer = transfers.next();
    }
};

export const chains: Runnable = {
  isLong: true,
  faults: CHAIN_FAULTS,
  *offending({ db }) {
    const walk = createChainWalk();
    for (const account of db.query<ChainAccount, []>(CHAIN_ACCOUNTS).iterate()) walk.begin(account);
    for (const row of inOrder(db)) {
      const broken = walk.meet(row);
      if (broken) yield broken;
    }
    yield* walk.end();
  },
};
