// Erasure mutations: the texts of an ended generation are overwritten, and its files are marked for deletion.
//
// The balance of the account and the row of the generation are locked first. A late result locks it too, so it never writes a text after the erasure.

import { fingerprintOf } from "../../domain/idempotency.ts";
import type { AdminResult, EraseGeneration, FinishFileRemoval } from "../../domain/mutations.ts";
import type { Failure, Labels } from "../../domain/types.ts";
import { ERASED, erasedEvent, erasedFailure } from "../decide/erasure.ts";
import type { Dialect } from "./dialect.ts";
import type { EndUserMutations } from "./end-users.ts";
import { metadataTerm } from "./metadata-term.ts";
import { MutationRejected } from "./mutation-rejected.ts";
import { all, change, first, type SqlProgram } from "./sql-program.ts";

const REQUEST = "SELECT body, labels FROM generation_request WHERE generation_seq = ?1";
const MARK = `UPDATE generation SET erased_at_ms = ?2, input_defaults = '${ERASED.inputDefaults}', fingerprint = coalesce(fingerprint, ?3),
    end_user_seq = NULL
  WHERE seq = ?1 AND completed_at_ms IS NOT NULL AND erased_at_ms IS NULL`;
// SQLite overwrites the row in its page, because it becomes shorter (see 0006.sql).
const ERASE_REQUEST = `UPDATE generation_request SET body = '${ERASED.body}', labels = NULL
  WHERE generation_seq = ?1 AND (body <> '${ERASED.body}' OR labels IS NOT NULL)`;
const ERASE_METADATA =
  "DELETE FROM generation_metadata WHERE account_seq = ?1 AND name = ?2 AND value = ?3 AND generation_seq = ?4";
const ERASE_ATTEMPT_REQUESTS = `UPDATE attempt_request SET request = '${ERASED.request}' WHERE generation_seq = ?1`;
const EVENTS = "SELECT version, event FROM generation_event WHERE generation_seq = ?1 ORDER BY version";
const ERASE_EVENT = "UPDATE generation_event SET event = ?3 WHERE generation_seq = ?1 AND version = ?2";
// The job of an attempt whose response was lost is found by the input, which no start has from now on.
const END_WATCHES = `UPDATE attempt SET watch_until_ms = NULL
  WHERE generation_seq = ?1 AND watch_until_ms IS NOT NULL AND job_id IS NULL`;
const ERASE_COPIES = `UPDATE pinned_input SET sha256 = NULL, bytes = NULL, mime = NULL, ms = NULL, pinned_at_ms = NULL
  WHERE generation_seq = ?1 AND sha256 IS NOT NULL`;
const ERASE_INPUT_FILES = "DELETE FROM input_file WHERE generation_seq = ?1";
const ERASE_CALLBACKS = "DELETE FROM callback_inbox WHERE generation_seq = ?1";
// A response of a receiver can repeat the event that it received.
const ERASE_TRIES = `UPDATE webhook_try SET answer = NULL WHERE answer IS NOT NULL
  AND delivery_seq IN (SELECT seq FROM webhook_delivery WHERE generation_seq = ?1)`;
const EXPIRE_FILES = `UPDATE generation SET files_expired_at_ms = ?2
  WHERE seq = ?1 AND status = 'succeeded' AND files_expired_at_ms IS NULL`;
const HAS_PINS = "SELECT 1 AS found FROM pinned_input WHERE generation_seq = ?1 AND removed_at_ms IS NULL LIMIT 1";
const REMOVE_FILES = "INSERT INTO file_removal (generation_seq) VALUES (?1) ON CONFLICT (generation_seq) DO NOTHING";
const FINISH_REMOVAL = "DELETE FROM file_removal WHERE generation_seq = ?1";

type Row = {
  keySeq: number;
  isEnded: number;
  isErased: number;
  key: string | null;
  fingerprint: string | null;
  endUserSeq: number | null;
};

/** The fingerprint takes the place of the body, so that the key can still be repeated. Earlier releases stored it at submission. */
const missingFingerprint = ({ key, fingerprint }: Row, body: string): string | null =>
  key === null || fingerprint !== null ? null : fingerprintOf(body);

export const prepareErasure = (dialect: Dialect, endUsers: Pick<EndUserMutations, "lockAccount" | "eraseUnused">) => {
  const select = `SELECT key_seq AS "keySeq", CASE WHEN completed_at_ms IS NULL THEN 0 ELSE 1 END AS "isEnded",
      CASE WHEN erased_at_ms IS NULL THEN 0 ELSE 1 END AS "isErased", idempotency_key AS key, fingerprint, end_user_seq AS "endUserSeq"
    FROM generation WHERE seq = ?1 AND account_seq = ?2 ${dialect.forUpdate}`;
  // Locks what a result of a try locks before it stores a response.
  const deliveries = `SELECT seq FROM webhook_delivery WHERE generation_seq = ?1 ORDER BY seq ${dialect.forUpdate}`;

  const eraseResults = `UPDATE ${dialect.answers} SET results = NULL WHERE generation_seq = ?1 AND results IS NOT NULL`;
  const failures = `SELECT DISTINCT failure FROM ${dialect.answers} WHERE generation_seq = ?1 AND failure IS NOT NULL`;
  const eraseFailure = `UPDATE ${dialect.answers} SET failure = ?3 WHERE generation_seq = ?1 AND failure = ?2`;

  const eraseLabels = function* (seq: number, accountSeq: number, labels: string | null): SqlProgram<void> {
    const { metadata } = labels === null ? { metadata: null } : (JSON.parse(labels) as Labels);
    for (const [name, value] of Object.entries(metadata ?? {}))
      yield* change(ERASE_METADATA, accountSeq, ...metadataTerm(name, value), seq);
  };
  const eraseHistory = function* (seq: number): SqlProgram<void> {
    yield* change(ERASE_ATTEMPT_REQUESTS, seq);
    yield* change(eraseResults, seq);
    for (const { failure } of yield* all<{ failure: string }>(failures, seq)) {
      const kept = JSON.stringify(erasedFailure(JSON.parse(failure) as Failure));
      if (kept !== failure) yield* change(eraseFailure, seq, failure, kept);
    }
    for (const { version, event } of yield* all<{ version: number; event: string }>(EVENTS, seq)) {
      const kept = erasedEvent(event);
      if (kept !== event) yield* change(ERASE_EVENT, seq, version, kept);
    }
  };
  const eraseTexts = function* ({ seq, accountSeq, atMs }: EraseGeneration, row: Row): SqlProgram<void> {
    const request = yield* first<{ body: string; labels: string | null }>(REQUEST, seq);
    if (!request) throw new MutationRejected(`generation ${seq} has no stored request`);
    yield* change(MARK, seq, atMs, missingFingerprint(row, request.body));
    yield* change(ERASE_REQUEST, seq);
    yield* eraseLabels(seq, accountSeq, request.labels);
    if (row.endUserSeq !== null) yield* endUsers.eraseUnused(row.endUserSeq, atMs);
    yield* eraseHistory(seq);
    yield* change(END_WATCHES, seq);
    yield* change(ERASE_COPIES, seq);
    yield* change(ERASE_INPUT_FILES, seq);
    if (dialect.hasCallbackInbox) yield* change(ERASE_CALLBACKS, seq);
    yield* all(deliveries, seq);
    yield* change(ERASE_TRIES, seq);
  };

  return {
    erase: function* (mutation: EraseGeneration): SqlProgram<AdminResult> {
      const { seq, accountSeq, keySeq, withFiles, atMs } = mutation;
      // The end user may be erased with its last generation, so no admission may name it meanwhile.
      yield* endUsers.lockAccount(accountSeq);
      const row = yield* first<Row>(select, seq, accountSeq);
      if (!row || (keySeq !== undefined && row.keySeq !== keySeq))
        throw new MutationRejected(`the account or the key has no generation ${seq}`);
      if (row.isEnded === 0) throw new MutationRejected(`generation ${seq} has not ended`);
      const isFirst = row.isErased === 0;
      if (isFirst) yield* eraseTexts(mutation, row);
      if (withFiles) {
        const expired = yield* change(EXPIRE_FILES, seq, atMs);
        if (isFirst || expired > 0 || (yield* first(HAS_PINS, seq))) yield* change(REMOVE_FILES, seq);
      }
      return { kind: "done", count: isFirst ? 1 : 0 };
    },
    finishRemoval: function* ({ seq }: FinishFileRemoval): SqlProgram<AdminResult> {
      yield* change(FINISH_REMOVAL, seq);
      return { kind: "done" };
    },
  };
};
