// Queries of pinned inputs, by generation and for deletion, and of generations whose files have to be deleted.
import type { Pin } from "../../../domain/types.ts";
import type { StoreReads } from "../../store.ts";
import type { Query } from "../sql-program.ts";

type Reads = Pick<StoreReads, "pinsOf" | "spentPins" | "pendingFileRemovals" | "isFileRemovalPending">;
type PinRow = {
  n: number;
  field: string;
  kind: Pin["kind"];
  measured_ms: number;
  frame_ms: number;
  sha256: string | null;
  bytes: number | null;
  mime: string | null;
  ms: number | null;
};

const OF =
  "SELECT input_no AS n, field, kind, measured_ms, frame_ms, sha256, bytes, mime, ms FROM pinned_input WHERE generation_seq = ?1 ORDER BY input_no";
const SPENT = `SELECT g.seq, g.id FROM generation g WHERE g.seq IN (SELECT generation_seq FROM pinned_input WHERE removed_at_ms IS NULL)
    AND g.completed_at_ms IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.generation_seq = g.seq AND a.watch_until_ms IS NOT NULL)
  ORDER BY g.seq LIMIT ?1`;

const REMOVALS = `SELECT g.seq, g.id FROM file_removal r JOIN generation g ON g.seq = r.generation_seq
  WHERE NOT EXISTS (SELECT 1 FROM input_file i JOIN generation u ON u.seq = i.generation_seq
    WHERE i.source_generation_seq = g.seq AND u.completed_at_ms IS NULL)`;
const PENDING = `${REMOVALS} ORDER BY g.seq LIMIT ?1`;
const IS_PENDING = `${REMOVALS} AND g.seq = ?1`;

const toPin = ({ n, field, kind, measured_ms: measuredMs, frame_ms: frameMs, sha256, bytes, mime, ms }: PinRow): Pin => ({
  ...{ n, field, kind, measuredMs, frameMs },
  copy: sha256 === null || bytes === null || mime === null || ms === null ? null : { n, sha256, bytes, mime, ms },
});

export const pinReads = (query: Query): Reads => ({
  pinsOf: async (seq) => (await query<PinRow>(OF, seq)).map(toPin),
  pendingFileRemovals: (limit) => query<{ seq: number; id: string }>(PENDING, limit),
  isFileRemovalPending: async (seq) => (await query(IS_PENDING, seq)).length > 0,
  spentPins: (limit) => query<{ seq: number; id: string }>(SPENT, limit),
});
