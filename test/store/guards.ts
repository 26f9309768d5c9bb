// What a schema refuses by itself: a scene with every kind of row, and SQL on it that would break an invariant, in words of all drivers.
import type { Store } from "../../src/store/store.ts";
import { admit, COPY, openAccount, PIN, pinnedMutation, startedMutation, succeed } from "./fixture.ts";
import { buy, foreignMutation, openPurchaseMutation, reversalMutation } from "./purchases.ts";

/** What a driver says by itself, and how a guard is taken away. */
export type Words = {
  check: string;
  unique(columns: string, index: string): string;
  drop(trigger: string, table: string): string;
};

export const makeRows = async (store: Store): Promise<void> => {
  const account = await openAccount(store, 1000);
  await succeed(store, account, { idempotencyKey: "k" });
  await store.commit([startedMutation(await admit(store, account))]);
  await admit(store, account);
  const pinned = await admit(store, account, { pins: [PIN] });
  await store.commit([pinnedMutation(pinned.seq, [COPY])]);
  await buy(store, account.seq, "a", 1000);
  await store.commit([
    openPurchaseMutation(account.seq, "b", 2000),
    reversalMutation("re_1", "a", 5, { state: "lost" }),
    foreignMutation("re_2", "a", 5, { state: "lost" }),
  ]);
};

const HASH = `'${"1".padStart(64, "0")}'`;
const OTHER_HASH = `'${"2".padStart(64, "0")}'`;
const POSTING =
  "seq, account_seq, chain_seq, previous, after_seq, kind, credits, from_side, to_side, generation_seq, attempt_n, available_after, held_after, at_ms, epoch, hash";
const RUNNING = "(SELECT seq FROM generation WHERE status = 'running')";
const ENDED = "(SELECT seq FROM generation WHERE status = 'succeeded')";
/** A posting behind the end of the account's chain, as its balance would have to follow. */
const post = (kind: string, credits: number, sides: string, generation: string, available: string, held: string) =>
  `INSERT INTO posting (${POSTING}) SELECT 99, account_seq, chain_seq + 1, chain_end, 0, '${kind}', ${credits}, ${sides}, ${generation}, 1,
     available_credits ${available}, held_credits ${held}, 0, 1, ${HASH} FROM balance`;
/** One operator, with a session that has ended, a link that was used, and a line of the audit log. */
const PEOPLE = `INSERT INTO person (seq, id, email, name, role, password, created_at_ms) VALUES (1, 'per_1', 'a@b.c', 'A', 'operator', '$argon2id$x', 0);
  INSERT INTO session VALUES (${HASH}, 'ses_1', 1, 0, 0, 9, 5, '', '');
  INSERT INTO invitation VALUES (${HASH}, 'inv_1', 'setup', 'operator', NULL, NULL, NULL, 1, 'x', 0, 9, 5, NULL);
  INSERT INTO audit (at_ms, actor_kind, actor_id, actor_name, action, detail) VALUES (0, 'command', '0', 'root', 'set-account', '{}');`;
const STEP = "UPDATE balance SET chain_seq = chain_seq + 1, chain_end = 99";

/** What is said, and of what. */
export const guards = (words: Words): [fault: string, sql: string][] => [
  ["a movement is never changed", "UPDATE posting SET credits = credits + 1"],
  ["a movement is never deleted", "DELETE FROM posting WHERE kind = 'topup'"],
  ["a journal line is never changed", "UPDATE journal SET at_ms = 0"],
  ["a journal line is never deleted", "DELETE FROM journal"],
  ["what was agreed at submission is never changed", `UPDATE generation SET body = '{}' WHERE seq = ${RUNNING}`],
  ["what was agreed at submission is never changed", `UPDATE generation SET hold_hash = ${HASH} WHERE seq = ${RUNNING}`],
  ["what was measured at submission is never changed", "UPDATE pinned_input SET measured_ms = 30000"],
  ["what was pinned is never changed", `UPDATE pinned_input SET sha256 = ${OTHER_HASH}`],
  ["what was pinned is never deleted", "DELETE FROM pinned_input"],
  [
    words.check,
    `INSERT INTO pinned_input VALUES (${RUNNING}, 1, 'input.video_url', 'video', 4000, 42, ${HASH}, 1, 'video/mp4', 4043, 0, NULL)`,
  ],
  [
    words.check,
    `INSERT INTO pinned_input VALUES (${RUNNING}, 1, 'input.video_url', 'video', 4000, 42, ${HASH}, NULL, NULL, NULL, NULL, NULL)`,
  ],
  [
    "an attempt begins when the inputs of its generation are pinned",
    `INSERT INTO pinned_input (seq, n, field, kind, measured_ms, frame_ms) VALUES (${RUNNING}, 1, 'input.video_url', 'video', 4000, 42);
     INSERT INTO attempt (seq, n, ref, route_id, provider, endpoint, options_seq, kind, price_credits, state)
     SELECT seq, 9, 'other-9', route_id, provider, endpoint, options_seq, kind, price_credits, 'intent' FROM attempt WHERE seq = ${RUNNING}`,
  ],
  ["a request is never changed", "UPDATE attempt_request SET request = ''"],
  ["a request is never deleted", "DELETE FROM attempt_request"],
  ["a credit is never changed", "UPDATE credit SET asked_credits = 1, moved_credits = 1"],
  ["a credit is never deleted", "DELETE FROM credit"],
  ["a purchase is never deleted", "DELETE FROM purchase"],
  ["what was asked for is never changed", "UPDATE purchase SET credits = 2000"],
  ["what is known of a payment is never changed", "UPDATE purchase SET payment_intent = 'pi_x' WHERE state = 'paid'"],
  ["what is known of a payment is never changed", "UPDATE purchase SET receipt = 9 WHERE state = 'paid'"],
  [
    "a purchase goes from open to its end",
    "UPDATE purchase SET state = 'expired', paid_at_ms = NULL, receipt = NULL WHERE state = 'paid'",
  ],
  [words.check, "UPDATE purchase SET state = 'paid' WHERE state = 'open'"],
  [words.check, "UPDATE purchase SET reversed_credits = credits + 1 WHERE state = 'paid'"],
  [words.check, "UPDATE purchase SET reversed_credits = 1 WHERE state = 'open'"],
  [
    "a purchase is credited with what was paid for it",
    "INSERT INTO purchase_credit SELECT (SELECT min(seq) FROM credit), seq, 'paid' FROM purchase WHERE state = 'open'",
  ],
  [
    words.unique("purchase_credit.purchase_seq", "purchase_paid_once"),
    `${words.drop("purchase_pays", "purchase_credit")};
     INSERT INTO purchase_credit SELECT (SELECT min(seq) FROM credit), seq, 'paid' FROM purchase WHERE state = 'paid'`,
  ],
  ["what a credit was for is never changed", "UPDATE purchase_credit SET why = 'returned'"],
  ["what a credit was for is never deleted", "DELETE FROM purchase_credit"],
  ["a refund or dispute is never deleted", "DELETE FROM reversal"],
  ["a refund or dispute keeps its payment and only goes on", "UPDATE reversal SET state = 'taken'"],
  ["a refund or dispute keeps its payment and only goes on", "UPDATE reversal SET payment_intent = 'pi_b'"],
  ["a refund or dispute keeps its payment and only goes on", "UPDATE reversal SET state = 'taken', told_at_ms = told_at_ms + 1"],
  ["a refund or dispute is never deleted", "DELETE FROM foreign_reversal"],
  ["a refund or dispute keeps its payment and only goes on", "UPDATE foreign_reversal SET state = 'taken'"],
  ["a refund or dispute keeps its payment and only goes on", "UPDATE foreign_reversal SET currency = 'gbp'"],
  ["a refund or dispute keeps its payment and only goes on", "UPDATE foreign_reversal SET amount = 4"],
  [words.check, "UPDATE foreign_reversal SET decided_amount = 5"],
  [words.check, "UPDATE foreign_reversal SET decided_amount = 6, decided_credits = 1, decided_at_ms = 1"],
  ["a generation is never deleted", `DELETE FROM generation WHERE seq = ${ENDED}`],
  ["an attempt is never deleted", "DELETE FROM attempt"],
  ["a balance changes only with the next movement of its chain", "UPDATE balance SET available_credits = available_credits + 1"],
  ["a balance changes only with the next movement of its chain", "UPDATE balance SET charged_credits = 0"],
  ["a movement agrees with its account", `${STEP}, available_credits = available_credits + 1`],
  [
    "a movement agrees with its account",
    `${post("topup", 5, "'funding', 'available'", "NULL", "+ 5", "")}; ${STEP}, available_credits = available_credits + 6`,
  ],
  [
    "a movement agrees with its account",
    `UPDATE balance SET chain_seq = chain_seq + 1, chain_end = -${RUNNING}, available_credits = available_credits - 110, held_credits = held_credits + 110`,
  ],
  ["a settlement takes at most what is held", post("capture", 111, "'held', 'charged'", RUNNING, "", "- 111")],
  ["a settlement comes before the end of its generation", post("capture", 1, "'held', 'charged'", ENDED, "", "- 1")],
  ["a generation that has ended is never changed", `UPDATE generation SET cost_credits = 1 WHERE seq = ${ENDED}`],
  ["a generation that has ended is never changed", `UPDATE generation SET output = '{}' WHERE seq = ${ENDED}`],
  [
    "a generation that has ended is never changed",
    `UPDATE generation SET status = 'running', cost_credits = NULL, output = NULL, completed_at_ms = NULL, files_expire_at_ms = NULL WHERE seq = ${ENDED}`,
  ],
  ["what was agreed at submission is never changed", `UPDATE generation SET reserved_credits = 200 WHERE seq = ${RUNNING}`],
  [
    "a generation goes from queued to running to its end",
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
  ["what an attempt was begun with is never changed", "UPDATE attempt SET price_credits = 1"],
  [
    "an attempt that delivered something else stays so",
    `UPDATE attempt SET state = 'mismatched' WHERE seq = ${RUNNING}; UPDATE attempt SET state = 'delivered' WHERE seq = ${RUNNING}`,
  ],
  ["what was agreed at submission is never changed", `UPDATE generation SET ordered = NULL WHERE seq = ${RUNNING}`],
  ["the route time of an attempt is never restarted", `UPDATE attempt SET ends_at_ms = ends_at_ms + 1 WHERE seq = ${RUNNING}`],
  ["after the end an attempt is not sent and not charged", `UPDATE attempt SET state = 'failed' WHERE seq = ${ENDED}`],
  [
    "an attempt begins as an intent of a generation that has not ended",
    `INSERT INTO attempt (seq, n, ref, route_id, provider, endpoint, options_seq, kind, price_credits, state) VALUES (${ENDED}, 2, 'r', 'b', 'p', 'e', 1, 'image', 1, 'intent')`,
  ],
  [
    words.unique("posting.generation_seq, posting.kind", "posting_once"),
    `${post("release", 1, "'held', 'available'", RUNNING, "+ 1", "- 1")};
     INSERT INTO posting (${POSTING}) SELECT 100, account_seq, chain_seq, previous, after_seq, kind, credits, from_side, to_side, generation_seq,
       attempt_n, available_after, held_after, at_ms, epoch, hash FROM posting WHERE seq = 99`,
  ],
  [words.check, `UPDATE generation SET message = 'x' WHERE status = 'queued'`],
  [words.check, `UPDATE generation SET cost_credits = 75 WHERE seq = ${RUNNING}`],
  [words.check, `${words.drop("balance_moves", "balance")}; UPDATE balance SET available_credits = -1`],
  [words.check, `${words.drop("balance_moves", "balance")}; UPDATE balance SET available_credits = 9007199254740992`],
  [
    words.unique("attempt.ref", "attempt_ref_key"),
    `INSERT INTO attempt (seq, n, ref, route_id, provider, endpoint, options_seq, kind, price_credits, state)
     SELECT seq, 2, ref, 'b', 'p', 'e', 1, 'image', 1, 'intent' FROM attempt WHERE seq = ${RUNNING}`,
  ],
  ["a line of the audit log is never changed", `${PEOPLE} UPDATE audit SET actor_name = 'eve'`],
  ["a line of the audit log is never deleted", `${PEOPLE} DELETE FROM audit`],
  ["this is the last operator", `${PEOPLE} UPDATE person SET disabled_at_ms = 1`],
  ["this is the last operator", `${PEOPLE} UPDATE person SET role = 'viewer'`],
  ["who somebody is never changes", `${PEOPLE} UPDATE person SET email = 'e@v.e'`],
  ["a person is disabled, never deleted", `${PEOPLE} DELETE FROM session; DELETE FROM person`],
  ["a session that has ended stays so", `${PEOPLE} UPDATE session SET ended_at_ms = NULL`],
  [
    "somebody who is disabled does not sign in",
    `${PEOPLE} INSERT INTO session VALUES (${OTHER_HASH}, 'ses_2', 2, 0, 0, 9, NULL, '', '')`,
  ],
  ["an invitation is used or withdrawn once", `${PEOPLE} UPDATE invitation SET used_at_ms = NULL, person_seq = NULL`],
  ["an invitation is never deleted", `${PEOPLE} DELETE FROM invitation`],
  [words.check, `${PEOPLE} INSERT INTO person SELECT 2, 'per_2', 'b@b.c', 'B', 'member', NULL, password, 0, NULL FROM person`],
  [words.check, "UPDATE api_key SET kind = 'console'"],
];
