// Invariants 11 and 12: rows belong to one account and to a known writer.
import { ERASED } from "../../decide/erasure.ts";
import { type Check, type Clause, clause } from "./check.ts";

/** Selects rows of a table whose generation does not exist. */
const stray = (table: string): string =>
  `SELECT '${table}' AS "row", t.generation_seq FROM (SELECT DISTINCT generation_seq FROM ${table}) t LEFT JOIN generation g ON g.seq = t.generation_seq WHERE g.seq IS NULL`;

const ERASED_TEXT = `SELECT g.id AS generation FROM generation g JOIN generation_request r ON r.generation_seq = g.seq
  WHERE g.erased_at_ms IS NOT NULL AND (r.body <> '${ERASED.body}' OR r.labels IS NOT NULL OR g.input_defaults <> '${ERASED.inputDefaults}'
    OR EXISTS (SELECT 1 FROM attempt_request q WHERE q.generation_seq = g.seq AND q.request <> '${ERASED.request}')
    OR EXISTS (SELECT 1 FROM attempt_text a WHERE a.generation_seq = g.seq AND a.results IS NOT NULL)
    OR EXISTS (SELECT 1 FROM input_file i WHERE i.generation_seq = g.seq))
  UNION SELECT g.id FROM generation_metadata m JOIN generation g ON g.seq = m.generation_seq WHERE g.erased_at_ms IS NOT NULL`;

/** 11. Tests cover responses, logs and links. Checked here: related rows belong to one account. */
const ownRows: Check<Clause> = {
  invariant: 11,
  name: "own data only",
  clauses: [
    clause(
      "the account of the transfer differs from its generation",
      `SELECT m.seq AS transfer, g.id AS generation FROM transfer_log m LEFT JOIN generation g ON g.seq = m.generation_seq
       WHERE m.generation_seq IS NOT NULL AND g.account_seq IS DISTINCT FROM m.account_seq`,
    ),
    clause(
      "the API key belongs to another account than the generation",
      `SELECT g.id AS generation, k.id AS key FROM generation g LEFT JOIN api_key k ON k.seq = g.key_seq
       WHERE k.account_seq IS DISTINCT FROM g.account_seq`,
    ),
    clause("the row refers to a missing generation", ["attempt", "generation_event", "snapshot"].map(stray).join(" UNION ALL ")),
    clause("the generation is erased and still has a text", ERASED_TEXT),
    clause(
      "more of an API key is stored than its hash and prefix",
      `SELECT id AS key FROM api_key WHERE length(prefix) > 20 OR length(hash) <> 64 OR ltrim(hash, '0123456789abcdef') <> ''`,
    ),
  ],
};

/** 12. Each driver adds its rules for the order of writers and for the integrity of the store. */
const soundStore: Check<Clause> = {
  invariant: 12,
  name: "sound store, one owner",
  clauses: [
    clause(
      "the row has an epoch that never opened the database",
      ({ writers }) =>
        `SELECT 'transfer' AS "row", seq, epoch FROM transfer_log WHERE epoch NOT IN (SELECT epoch FROM ${writers})
       UNION ALL SELECT 'generation_event', generation_seq, epoch FROM generation_event WHERE epoch NOT IN (SELECT epoch FROM ${writers})`,
    ),
  ],
};

export const SOUND_CHECKS = [ownRows, soundStore] as const;
