// Guards of the schema: rows of every kind, and SQL that every driver must reject.
import type { Store } from "../../src/store/store.ts";
import { endpointMutation } from "./contract/webhooks.ts";
import { admit, COPY, NOW_MS, openAccount, PIN, pinnedMutation, startedMutation, succeed } from "./fixture.ts";
import { BUYER, buy, foreignMutation, openPurchaseMutation, reversalMutation } from "./purchases.ts";
import { append, beginMutation, contentOf, createResumable, deletion, inputOf, upload } from "./uploads.ts";

/** The error texts of a driver, and how a guard is dropped. */
export type Words = {
  check: string;
  unique(columns: string, index: string): string;
  drop(trigger: string, table: string): string;
};

export const makeRows = async (store: Store): Promise<void> => {
  const account = await openAccount(store, 1000);
  await store.commit([endpointMutation(account, { events: "generation.failed" })]);
  await store.commit([
    {
      mutation: "send-test-webhook",
      accountSeq: account.seq,
      endpointSeq: (await store.webhookEndpoints(account.seq))[0]?.seq ?? 0,
      atMs: 0,
    },
  ]);
  await succeed(store, account, { idempotencyKey: "k" });
  await store.commit([startedMutation(await admit(store, account))]);
  await admit(store, account, { labels: { metadata: null, endUser: "ada" } });
  const pinned = await admit(store, account, { pins: [PIN] });
  await store.commit([pinnedMutation(pinned.seq, [COPY])]);
  const file = await upload(store, account.seq, "input");
  await admit(store, account, { files: { inputs: [inputOf(file)], expireAtMs: 0 } });
  const deleted = await upload(store, account.seq, "deleted");
  await store.commit([deletion(account.seq, deleted.id), beginMutation(account.seq, contentOf("reserved"))]);
  for (const uploadId of ["upl_open", "upl_ended"]) {
    await store.commit([createResumable(account.seq, { uploadId, quotaBytes: 10_000 })]);
    await append(store, uploadId, 0, 60);
  }
  await store.commit([
    { mutation: "end-resumable-upload", accountSeq: account.seq, uploadId: "upl_ended", error: null, atMs: NOW_MS },
  ]);
  await buy(store, account.seq, "a", 1000);
  await store.commit([{ mutation: "set-spend-alert", accountSeq: account.seq, credits: 9, by: BUYER, atMs: NOW_MS }]);
  await store.commit([
    openPurchaseMutation(account.seq, "b", 2000),
    reversalMutation("re_1", "a", 5, { state: "lost" }),
    foreignMutation("re_2", "a", 5, { state: "lost" }),
  ]);
};

const HASH = `'${"1".padStart(64, "0")}'`;
const OTHER_HASH = `'${"2".padStart(64, "0")}'`;
const TRANSFER =
  "seq, account_seq, transfer_no, previous_seq, after_generation_seq, kind, credits, from_side, to_side, generation_seq, attempt_no, available_after, held_after, at_ms, epoch, hash";
const RUNNING = "(SELECT seq FROM generation WHERE status = 'running')";
const ENDED = "(SELECT seq FROM generation WHERE status = 'succeeded')";
const ERASE = `UPDATE generation SET erased_at_ms = 1, input_defaults = '{}' WHERE seq = ${ENDED}`;
const OPEN_UPLOAD = "ended_at_ms IS NULL";
const STORED = "stored_at_ms IS NOT NULL AND retired_at_ms IS NULL";
/** A transfer appended to the account's chain, with the balance that must follow. */
const post = (kind: string, credits: number, sides: string, generation: string, available: string, held: string) =>
  `INSERT INTO transfer (${TRANSFER}) SELECT 99, account_seq, last_transfer_no + 1, last_transfer_seq, 0, '${kind}', ${credits}, ${sides}, ${generation}, 1,
     available_credits ${available}, held_credits ${held}, 0, 1, ${HASH} FROM balance`;
/** One operator, with an ended session, a used invitation and an audit entry. */
const USERS = `INSERT INTO console_user (seq, id, email, name, role, password, created_at_ms) VALUES (1, 'per_1', 'a@b.c', 'A', 'operator', '$argon2id$x', 0);
  INSERT INTO session VALUES (${HASH}, 'ses_1', 1, 0, 0, 9, 5, '', '');
  INSERT INTO invitation VALUES (${HASH}, 'inv_1', 'setup', 'operator', NULL, NULL, NULL, 1, 'x', 0, 9, 5, NULL);
  INSERT INTO audit (at_ms, principal_kind, principal_id, principal_name, action, detail) VALUES (0, 'command', '0', 'root', 'set-account', '{}');`;
const STEP = "UPDATE balance SET last_transfer_no = last_transfer_no + 1, last_transfer_seq = 99";

/** The expected error, and the SQL that causes it. */
export const guards = (words: Words): [fault: string, sql: string][] => [
  ["a transfer is immutable", "UPDATE transfer SET credits = credits + 1"],
  ["a transfer cannot be deleted", "DELETE FROM transfer WHERE kind = 'topup'"],
  ["a generation event is immutable until its texts are erased", "UPDATE generation_event SET at_ms = 0"],
  ["a generation event is immutable until its texts are erased", 'UPDATE generation_event SET event = \'{"type":"tick"}\''],
  ["a generation event cannot be deleted", "DELETE FROM generation_event"],
  [
    "the request of a generation is immutable until it is erased",
    `UPDATE generation_request SET body = '{}' WHERE generation_seq = ${ENDED}`,
  ],
  [
    "the request of a generation is immutable until it is erased",
    `${ERASE}; UPDATE generation_request SET body = '{"input":{}}' WHERE generation_seq = ${ENDED}`,
  ],
  [
    "the request of a generation is immutable until it is erased",
    `${ERASE}; UPDATE generation_request SET labels = '{"metadata":{"a":"b"},"endUser":null}' WHERE generation_seq = ${ENDED}`,
  ],
  [
    "the terms of a generation are immutable until they are erased",
    `UPDATE generation SET input_defaults = '{}' WHERE seq = ${RUNNING}`,
  ],
  [
    "the terms of a generation are immutable until they are erased",
    `UPDATE generation SET erased_at_ms = 1, input_defaults = '{"a":1}' WHERE seq = ${ENDED}`,
  ],
  [words.check, `UPDATE generation SET erased_at_ms = 1 WHERE seq = ${RUNNING}`],
  ["an ended generation is immutable", `${ERASE}; UPDATE generation SET erased_at_ms = 2 WHERE seq = ${ENDED}`],
  ["an ended generation is immutable", `${ERASE}; UPDATE generation SET erased_at_ms = NULL WHERE seq = ${ENDED}`],
  [words.check, "UPDATE account SET prompt_retention_s = -2"],
  [words.check, "UPDATE spend_alert SET credits = 0"],
  [words.check, "UPDATE spend_alert SET reached_month_day = 3"],
  [words.check, "UPDATE spend_alert SET reached_month_day = -1, reached_at_ms = 1"],
  ["the terms of a generation are immutable", `UPDATE generation SET hold_hash = ${HASH} WHERE seq = ${RUNNING}`],
  [
    "the end user of a generation is immutable until it is erased",
    `UPDATE generation SET end_user_seq = 1 WHERE seq = ${RUNNING}`,
  ],
  [
    "the end user of a generation is immutable until it is erased",
    "UPDATE generation SET end_user_seq = NULL WHERE end_user_seq IS NOT NULL",
  ],
  ["the terms of an end user are immutable", "UPDATE end_user SET created_at_ms = 1"],
  ["an end user is erased once, with its last generation", "UPDATE end_user SET erased_at_ms = 1"],
  ["an end user is erased once, with its last generation", "UPDATE end_user SET term = 'other'"],
  ["the name of an end user is immutable until it is erased", "UPDATE end_user_name SET name = ''"],
  ["the name of an end user cannot be deleted", "DELETE FROM end_user_name"],
  [words.check, "INSERT INTO end_user SELECT 99, account_seq, 'x', 'day', 1, 0, 1 FROM end_user"],
  [words.check, "UPDATE end_user SET limit_window = 'day'"],
  [words.check, "UPDATE end_user SET limit_window = 'year', limit_credits = 1"],
  [words.check, "UPDATE end_user SET limit_window = 'day', limit_credits = -1"],
  [words.check, "UPDATE end_user_day SET held_credits = spent_credits + 1"],
  [words.check, "UPDATE end_user_day SET failed = -1"],
  [
    words.unique("end_user.account_seq, end_user.term", "end_user_account_seq_term_key"),
    "INSERT INTO end_user (account_seq, term, created_at_ms) SELECT account_seq, term, 0 FROM end_user",
  ],
  [words.check, `INSERT INTO generation_metadata VALUES (1, '', 'x', ${RUNNING})`],
  ["the measured length of an input is immutable", "UPDATE pinned_input SET measured_ms = 30000"],
  ["the copy of an input is immutable until it is erased", `UPDATE pinned_input SET sha256 = ${OTHER_HASH}`],
  [
    "the copy of an input is immutable until it is erased",
    "UPDATE pinned_input SET sha256 = NULL, bytes = NULL, mime = NULL, ms = NULL, pinned_at_ms = NULL",
  ],
  ["a pinned input cannot be deleted", "DELETE FROM pinned_input"],
  [
    words.check,
    `INSERT INTO pinned_input VALUES (${RUNNING}, 1, 'input.video_url', 'video', 4000, 42, ${HASH}, 1, 'video/mp4', 4043, 0, NULL)`,
  ],
  [
    words.check,
    `INSERT INTO pinned_input VALUES (${RUNNING}, 1, 'input.video_url', 'video', 4000, 42, ${HASH}, NULL, NULL, NULL, NULL, NULL)`,
  ],
  [
    "an attempt starts after the inputs of its generation are pinned",
    `INSERT INTO pinned_input (generation_seq, input_no, field, kind, measured_ms, frame_ms) VALUES (${RUNNING}, 1, 'input.video_url', 'video', 4000, 42);
     INSERT INTO attempt (generation_seq, attempt_no, ref, route_id, provider, endpoint, options_seq, kind, price_credits, state)
     SELECT generation_seq, 9, 'other-9', route_id, provider, endpoint, options_seq, kind, price_credits, 'intent' FROM attempt WHERE generation_seq = ${RUNNING}`,
  ],
  ["the row of an uploaded file cannot be deleted before the file", "DELETE FROM uploaded_file WHERE deleted_at_ms IS NULL"],
  ["a stored blob cannot be deleted", `DELETE FROM upload_blob WHERE ${STORED}`],
  ["the file of an input cannot be deleted until it is erased", "DELETE FROM input_file"],
  ["the file of an input is immutable", "UPDATE input_file SET bytes = bytes + 1"],
  ["the content of a stored blob is immutable", "UPDATE upload_blob SET bytes = bytes + 1"],
  ["the content of an uploaded file is immutable", "UPDATE uploaded_file SET blob_seq = blob_seq + 1"],
  ["a deleted file stays deleted", "UPDATE uploaded_file SET deleted_at_ms = NULL WHERE deleted_at_ms IS NOT NULL"],
  ["an open generation needs the file", "UPDATE uploaded_file SET deleted_at_ms = 1 WHERE deleted_at_ms IS NULL"],
  ["a file needs the stored blob", `UPDATE upload_blob SET retired_at_ms = 1 WHERE ${STORED}`],
  ["a retired blob stays retired", "UPDATE upload_blob SET retired_at_ms = NULL WHERE retired_at_ms IS NOT NULL"],
  [words.check, `UPDATE upload_blob SET removed_at_ms = 1 WHERE ${STORED}`],
  [words.check, "UPDATE upload_usage SET bytes = -1"],
  ["the terms of a resumable upload are immutable", `UPDATE resumable_upload SET bytes = 1 WHERE ${OPEN_UPLOAD}`],
  ["an ended upload stays ended", "UPDATE resumable_upload SET ended_at_ms = NULL WHERE ended_at_ms IS NOT NULL"],
  ["an open upload cannot be deleted", `DELETE FROM resumable_upload WHERE ${OPEN_UPLOAD}`],
  ["the offset of an upload never decreases", `UPDATE resumable_upload SET received_bytes = 59 WHERE ${OPEN_UPLOAD}`],
  [
    "an open upload needs its stored parts",
    `DELETE FROM resumable_part WHERE upload_seq = (SELECT seq FROM resumable_upload WHERE ${OPEN_UPLOAD})`,
  ],
  [words.check, `UPDATE resumable_upload SET received_bytes = bytes + 1 WHERE ${OPEN_UPLOAD}`],
  [words.check, `UPDATE resumable_upload SET lock_id = 'x' WHERE ${OPEN_UPLOAD}`],
  [words.check, `UPDATE resumable_upload SET error = '{}' WHERE ${OPEN_UPLOAD}`],
  [
    words.check,
    `UPDATE resumable_upload SET ended_at_ms = 1, file_id = (SELECT min(id) FROM uploaded_file) WHERE ${OPEN_UPLOAD}`,
  ],
  [
    words.unique("resumable_part.upload_seq, resumable_part.first_byte", "resumable_part_stored"),
    `INSERT INTO resumable_part (id, upload_seq, first_byte, bytes, sha256, created_at_ms, stored_at_ms)
     SELECT 'blob_again', upload_seq, first_byte, 1, sha256, 0, 0 FROM resumable_part
     WHERE upload_seq = (SELECT seq FROM resumable_upload WHERE ${OPEN_UPLOAD})`,
  ],
  [
    "an uploaded file has a stored blob of its account",
    `INSERT INTO uploaded_file (id, account_seq, blob_seq, created_at_ms, last_used_at_ms, expires_at_ms)
     SELECT 'file_x', account_seq, seq, 0, 0, 0 FROM upload_blob WHERE NOT (${STORED})`,
  ],
  [
    "an open generation takes files that are stored",
    `INSERT INTO input_file SELECT ${RUNNING}, 1, field, kind, (SELECT seq FROM uploaded_file WHERE deleted_at_ms IS NOT NULL),
       NULL, storage_id, file_no, object, sha256, bytes, mime FROM input_file`,
  ],
  [
    words.check,
    `INSERT INTO input_file SELECT ${RUNNING}, 1, field, kind, NULL, NULL, storage_id, file_no, object, sha256, bytes, mime FROM input_file`,
  ],
  [
    words.unique("upload_blob.account_seq, upload_blob.sha256", "upload_blob_content"),
    `INSERT INTO upload_blob (id, account_seq, sha256, bytes, mime, kind, created_at_ms, stored_at_ms)
     SELECT 'blob_x', account_seq, sha256, bytes, mime, kind, 0, 0 FROM upload_blob WHERE ${STORED}`,
  ],
  ["the request of an attempt is immutable until it is erased", "UPDATE attempt_request SET request = ''"],
  ["the request of an attempt cannot be deleted", "DELETE FROM attempt_request"],
  ["a balance adjustment is immutable", "UPDATE balance_adjustment SET requested_credits = 1, transferred_credits = 1"],
  ["a balance adjustment cannot be deleted", "DELETE FROM balance_adjustment"],
  ["a purchase cannot be deleted", "DELETE FROM purchase"],
  ["the terms of a purchase are immutable", "UPDATE purchase SET credits = 2000"],
  ["the payment details of a purchase are immutable", "UPDATE purchase SET payment_intent = 'pi_x' WHERE state = 'paid'"],
  ["the payment details of a purchase are immutable", "UPDATE purchase SET receipt = 9 WHERE state = 'paid'"],
  ["the state of a purchase changes from open to its end", "UPDATE purchase SET state = 'expired' WHERE state = 'paid'"],
  [words.check, "UPDATE purchase SET state = 'paid' WHERE state = 'open'"],
  [words.check, "UPDATE purchase SET reversed_credits = credits + 1 WHERE state = 'paid'"],
  [words.check, "UPDATE purchase SET reversed_credits = 1 WHERE state = 'open'"],
  [
    "a paid purchase is credited in full",
    "INSERT INTO purchase_adjustment SELECT (SELECT min(seq) FROM balance_adjustment), seq, 'paid' FROM purchase WHERE state = 'open'",
  ],
  [
    words.unique("purchase_adjustment.purchase_seq", "purchase_paid_once"),
    `${words.drop("purchase_credited_in_full", "purchase_adjustment")};
     INSERT INTO purchase_adjustment SELECT (SELECT min(seq) FROM balance_adjustment), seq, 'paid' FROM purchase WHERE state = 'paid'`,
  ],
  ["the adjustment of a purchase is immutable", "UPDATE purchase_adjustment SET reason = 'returned'"],
  ["the adjustment of a purchase cannot be deleted", "DELETE FROM purchase_adjustment"],
  ["a reversal cannot be deleted", "DELETE FROM reversal"],
  ["a reversal keeps its payment, and its state changes in one direction", "UPDATE reversal SET state = 'taken'"],
  ["a reversal keeps its payment, and its state changes in one direction", "UPDATE reversal SET payment_intent = 'pi_b'"],
  [
    "a reversal keeps its payment, and its state changes in one direction",
    "UPDATE reversal SET state = 'taken', reported_at_ms = reported_at_ms + 1",
  ],
  ["a reversal cannot be deleted", "DELETE FROM foreign_reversal"],
  ["a reversal keeps its payment, and its state changes in one direction", "UPDATE foreign_reversal SET state = 'taken'"],
  ["a reversal keeps its payment, and its state changes in one direction", "UPDATE foreign_reversal SET currency = 'gbp'"],
  ["a reversal keeps its payment, and its state changes in one direction", "UPDATE foreign_reversal SET amount = 4"],
  [words.check, "UPDATE foreign_reversal SET decided_amount = 5"],
  [words.check, "UPDATE foreign_reversal SET decided_amount = 6, decided_credits = 1, decided_at_ms = 1"],
  ["the event of a delivery is immutable", "UPDATE webhook_delivery SET type = 'other'"],
  ["the event of a delivery is immutable", "UPDATE webhook_delivery SET sequence = sequence + 1"],
  [words.check, "UPDATE webhook_delivery SET due_at_ms = NULL"],
  [words.check, "UPDATE webhook_delivery SET state = 'delivered'"],
  [words.check, "UPDATE webhook_endpoint SET disabled_reason = 'x'"],
  [words.check, "UPDATE webhook_endpoint SET deleted_at_ms = 1"],
  [words.check, "UPDATE webhook_endpoint SET failing_since_ms = 1"],
  [words.check, "INSERT INTO webhook_try SELECT seq, 1, 0, NULL, NULL, NULL, 1 FROM webhook_delivery"],
  [words.check, "INSERT INTO webhook_secret SELECT seq, 1, 0 FROM account"],
  ["a generation cannot be deleted", `DELETE FROM generation WHERE seq = ${ENDED}`],
  ["an attempt cannot be deleted", "DELETE FROM attempt"],
  ["a balance changes only with the next transfer of its chain", "UPDATE balance SET available_credits = available_credits + 1"],
  ["a balance changes only with the next transfer of its chain", "UPDATE balance SET charged_credits = 0"],
  ["a transfer matches the balance of its account", `${STEP}, available_credits = available_credits + 1`],
  [
    "a transfer matches the balance of its account",
    `${post("topup", 5, "'funding', 'available'", "NULL", "+ 5", "")}; ${STEP}, available_credits = available_credits + 6`,
  ],
  [
    "a transfer matches the balance of its account",
    `UPDATE balance SET last_transfer_no = last_transfer_no + 1, last_transfer_seq = -${RUNNING}, available_credits = available_credits - 110, held_credits = held_credits + 110`,
  ],
  ["a settlement takes at most the hold", post("capture", 111, "'held', 'charged'", RUNNING, "", "- 111")],
  ["a settlement precedes the end of its generation", post("capture", 1, "'held', 'charged'", ENDED, "", "- 1")],
  ["an ended generation is immutable", `UPDATE generation SET cost_credits = 1 WHERE seq = ${ENDED}`],
  ["an ended generation is immutable", `UPDATE generation SET output = '{}' WHERE seq = ${ENDED}`],
  [
    "an ended generation is immutable",
    `UPDATE generation SET status = 'running', cost_credits = NULL, output = NULL, completed_at_ms = NULL, files_expire_at_ms = NULL WHERE seq = ${ENDED}`,
  ],
  ["the terms of a generation are immutable", `UPDATE generation SET reserved_credits = 200 WHERE seq = ${RUNNING}`],
  [
    "the status of a generation changes from queued to running to its end",
    `UPDATE generation SET status = 'queued', attempts = 0 WHERE seq = ${RUNNING}`,
  ],
  [
    "a generation succeeds with the capture of its cost",
    `UPDATE generation SET status = 'succeeded', cost_credits = 75, output = '{}', completed_at_ms = created_at_ms + 1, files_expire_at_ms = 9 WHERE seq = ${RUNNING}`,
  ],
  [
    "a generation fails with the release of its hold",
    `UPDATE generation SET status = 'failed', cost_credits = 0, error = '{}', completed_at_ms = created_at_ms + 1 WHERE seq = ${RUNNING}`,
  ],
  ["the terms of an attempt are immutable", "UPDATE attempt SET price_credits = 1"],
  [
    "a mismatched attempt is never charged",
    `UPDATE attempt SET state = 'mismatched' WHERE generation_seq = ${RUNNING}; UPDATE attempt SET state = 'delivered' WHERE generation_seq = ${RUNNING}`,
  ],
  ["the terms of a generation are immutable", `UPDATE generation SET expected_delivery = NULL WHERE seq = ${RUNNING}`],
  [
    "an attempt has one job and one time limit",
    `UPDATE attempt SET ends_at_ms = ends_at_ms + 1 WHERE generation_seq = ${RUNNING}`,
  ],
  [
    "an attempt of an ended generation is not sent and not charged",
    `UPDATE attempt SET state = 'failed' WHERE generation_seq = ${ENDED}`,
  ],
  [
    "an attempt starts as an intent of an open generation",
    `INSERT INTO attempt (generation_seq, attempt_no, ref, route_id, provider, endpoint, options_seq, kind, price_credits, state) VALUES (${ENDED}, 2, 'r', 'b', 'p', 'e', 1, 'image', 1, 'intent')`,
  ],
  [
    words.unique("transfer.generation_seq, transfer.kind", "transfer_settlement_once"),
    `${post("release", 1, "'held', 'available'", RUNNING, "+ 1", "- 1")};
     INSERT INTO transfer (${TRANSFER}) SELECT 100, account_seq, transfer_no, previous_seq, after_generation_seq, kind, credits, from_side, to_side, generation_seq,
       attempt_no, available_after, held_after, at_ms, epoch, hash FROM transfer WHERE seq = 99`,
  ],
  [words.check, `UPDATE generation SET message = 'x' WHERE status = 'queued'`],
  [words.check, `UPDATE generation SET cost_credits = 75 WHERE seq = ${RUNNING}`],
  [words.check, `${words.drop("balance_follows_transfer", "balance")}; UPDATE balance SET available_credits = -1`],
  [words.check, `${words.drop("balance_follows_transfer", "balance")}; UPDATE balance SET available_credits = 9007199254740992`],
  [
    words.unique("attempt.ref", "attempt_ref_key"),
    `INSERT INTO attempt (generation_seq, attempt_no, ref, route_id, provider, endpoint, options_seq, kind, price_credits, state)
     SELECT generation_seq, 2, ref, 'b', 'p', 'e', 1, 'image', 1, 'intent' FROM attempt WHERE generation_seq = ${RUNNING}`,
  ],
  ["an audit entry is immutable", `${USERS} UPDATE audit SET principal_name = 'eve'`],
  ["an audit entry cannot be deleted", `${USERS} DELETE FROM audit`],
  ["this is the last operator", `${USERS} UPDATE console_user SET disabled_at_ms = 1`],
  ["this is the last operator", `${USERS} UPDATE console_user SET role = 'viewer'`],
  ["the identity of a user is immutable", `${USERS} UPDATE console_user SET email = 'e@v.e'`],
  ["a user cannot be deleted, only disabled", `${USERS} DELETE FROM session; DELETE FROM console_user`],
  ["an ended session is immutable", `${USERS} UPDATE session SET ended_at_ms = NULL`],
  ["a disabled user cannot sign in", `${USERS} INSERT INTO session VALUES (${OTHER_HASH}, 'ses_2', 2, 0, 0, 9, NULL, '', '')`],
  ["an invitation is used or withdrawn once", `${USERS} UPDATE invitation SET used_at_ms = NULL, user_seq = NULL`],
  ["an invitation cannot be deleted", `${USERS} DELETE FROM invitation`],
  [
    words.check,
    `${USERS} INSERT INTO console_user SELECT 2, 'per_2', 'b@b.c', 'B', 'member', NULL, password, 0, NULL FROM console_user`,
  ],
  [words.check, "UPDATE api_key SET kind = 'console'"],
];
