// Selects the rows of an archive: the settled, old start of each account's chain.
//
// The generations that were settled in it are included.
import { chainStart } from "../sql/ledger.ts";
import type { ChainRow } from "../sql/verify/chain.ts";
import type { AccountChainRange, End, Kind, Row } from "./format.ts";
import type { ArchiveSource } from "./source.ts";

/**
 * Whether a transfer can be archived. It must be old. If it settles a generation, the generation has ended, its files are deleted
 * and none of its attempts is watched. So archived rows never change.
 */
const CHAIN = `SELECT m.*, CASE WHEN m.at_ms >= ?1 THEN 0 WHEN m.kind NOT IN ('capture', 'release') THEN 1
    WHEN g.completed_at_ms < ?1 AND (g.files_expire_at_ms IS NULL OR g.files_expired_at_ms < ?1)
      AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.generation_seq = g.seq AND a.watch_until_ms IS NOT NULL) THEN 1 ELSE 0 END AS may_go
  FROM transfer_log m LEFT JOIN generation g ON g.seq = m.generation_seq ORDER BY m.account_seq, m.transfer_no`;
const ACCOUNTS = "SELECT seq, id FROM account ORDER BY seq";

/** A generation is archived with its settlement; a capture and its release are never separated. */
const settled = (columns: string, from: string, order: string): string =>
  `SELECT ${columns}, g.account_seq AS of_account, x.transfer_no AS settled_at, g.erased_at_ms AS erased FROM ${from}
   JOIN transfer x ON x.generation_seq = g.seq AND x.kind = CASE g.status WHEN 'succeeded' THEN 'capture' ELSE 'release' END
   WHERE g.completed_at_ms < ?1 ORDER BY ${order}`;
const GENERATION = `g.seq, g.account_seq, g.id, g.model, g.status, g.quoted_credits, g.reserved_credits, g.cost_credits, g.attempts, g.error, g.output,
  g.created_at_ms, g.start_deadline_ms, g.completed_at_ms, g.files_expire_at_ms, g.files_expired_at_ms, g.idempotency_key, g.hold_transfer_no, g.hold_previous_seq,
  g.hold_available_after, g.hold_held_after, g.hold_epoch, g.hold_hash, k.id AS key_id, g.max_cost_credits, g.request_id, p.routes AS plan, r.body, g.input_defaults, g.expected_delivery, r.labels`;
const ATTEMPT = `a.generation_seq, a.attempt_no, a.ref, a.route_id, a.provider, a.endpoint, o.options, a.kind, a.price_credits, a.state, a.sent_at_ms, a.ends_at_ms, a.job_id,
  a.job_urls, t.results, t.failure, a.ended_at_ms`;

type List = { kind: Kind; sql: string; onlyShared?: true };
const GENERATIONS: List = {
  kind: "generation",
  sql: settled(
    GENERATION,
    "generation g JOIN generation_request r ON r.generation_seq = g.seq JOIN plan p ON p.seq = g.plan_seq JOIN api_key k ON k.seq = g.key_seq",
    "g.seq",
  ),
};
/** Rows that are archived with generations, in the order of reading. */
const LISTS: readonly List[] = [
  {
    kind: "attempt",
    sql: settled(
      ATTEMPT,
      `attempt a JOIN generation g ON g.seq = a.generation_seq JOIN route_options o ON o.seq = a.options_seq
       JOIN attempt_text t ON t.generation_seq = a.generation_seq AND t.attempt_no = a.attempt_no`,
      "a.generation_seq, a.attempt_no",
    ),
  },
  {
    kind: "attempt_request",
    sql: settled(
      "r.generation_seq, r.attempt_no, r.request",
      "attempt_request r JOIN generation g ON g.seq = r.generation_seq",
      "r.generation_seq, r.attempt_no",
    ),
  },
  {
    kind: "generation_event",
    sql: settled(
      "j.generation_seq, j.version, j.at_ms, j.epoch, j.state_after, j.event",
      "generation_event j JOIN generation g ON g.seq = j.generation_seq",
      "j.generation_seq, j.version",
    ),
  },
  {
    kind: "ownership_change",
    sql: settled(
      "c.generation_seq, c.change_no, c.epoch, c.from_version, c.at_ms",
      "ownership_change c JOIN generation g ON g.seq = c.generation_seq",
      "c.generation_seq, c.change_no",
    ),
    onlyShared: true,
  },
];

type ChainedRow = ChainRow & { may_go: number; epoch: number };

const endAt = (row: ChainRow): End => ({
  seq: row.seq,
  chainSeq: row.transfer_no,
  hash: row.hash,
  availableCredits: row.available_after,
  heldCredits: row.held_after,
});

export const listsOf = ({ hasOwnershipChanges }: Pick<ArchiveSource, "hasOwnershipChanges">): readonly List[] => [
  GENERATIONS,
  ...LISTS.filter(({ onlyShared }) => hasOwnershipChanges || !onlyShared),
];

/** The rows of a list whose generations were settled in the given parts of the chains, and whether their texts are erased. */
export const settledIn = async function* (
  { rows }: Pick<ArchiveSource, "rows">,
  { sql }: List,
  beforeMs: number,
  pieces: ReadonlyMap<number, Pick<AccountChainRange, "from" | "to">>,
): AsyncGenerator<{ row: Row; isErased: boolean }> {
  for await (const { of_account, settled_at, erased, ...row } of rows<Row>(sql, beforeMs)) {
    const piece = pieces.get(Number(of_account));
    const at = Number(settled_at);
    if (piece && at > piece.from.chainSeq && at <= piece.to.chainSeq) yield { row, isErased: erased !== null };
  }
};

/**
 * Passes every row to be archived to `put`, kind by kind.
 * @param ends The ends of earlier archives of the same store.
 * @param put Collects a row; a promise is returned only if it writes.
 */
export const collectRows = async (
  { rows, hasOwnershipChanges }: ArchiveSource,
  beforeMs: number,
  ends: ReadonlyMap<number, End>,
  put: (kind: Kind, row: Row) => Promise<void> | undefined,
): Promise<void> => {
  const pieces = new Map<number, AccountChainRange & { isOver: boolean }>();
  for await (const { seq, id } of rows<{ seq: number; id: string }>(ACCOUNTS)) {
    const from = ends.get(seq) ?? { seq: null, chainSeq: 0, hash: chainStart(id), availableCredits: 0, heldCredits: 0 };
    pieces.set(seq, { seq, id, from, to: from, isOver: false });
  }
  for await (const { may_go, ...row } of rows<ChainedRow>(CHAIN, beforeMs)) {
    const piece = pieces.get(row.account_seq);
    if (!piece || piece.isOver || row.transfer_no <= piece.from.chainSeq) continue;
    if (may_go === 0) {
      piece.isOver = true;
      continue;
    }
    piece.to = endAt(row);
    const isWritten = put("transfer", row as unknown as Row);
    if (isWritten) await isWritten;
  }
  for (const { isOver: _, ...piece } of pieces.values())
    if (piece.to !== piece.from) await put("account", piece as unknown as Row);
  for (const list of listsOf({ hasOwnershipChanges }))
    for await (const { row } of settledIn({ rows }, list, beforeMs, pieces)) {
      const isWritten = put(list.kind, row);
      if (isWritten) await isWritten;
    }
};
