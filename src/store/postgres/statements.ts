// Statements that write a group, each for all its rows in one table.
//
// A statement that changes rows fails if one of them is missing.
import { type Columns, rowsOf } from "./parameters.ts";

/** A statement that must change every given row. */
const insisting = (change: string, otherwise: string): string =>
  `WITH changed AS (${change} RETURNING 1) SELECT assert_rows((SELECT count(*) FROM changed), CAST(?2 AS bigint), '${otherwise}')`;

export const INSERT_PLANS = `INSERT INTO plan (hash, routes) SELECT hash, text FROM ${rowsOf("?1", { hash: "text", text: "text" }, "x")}
  ORDER BY hash ON CONFLICT (hash) DO NOTHING`;
export const INSERT_OPTIONS = `INSERT INTO route_options (hash, options) SELECT hash, text FROM ${rowsOf("?1", { hash: "text", text: "text" }, "x")}
  ORDER BY hash ON CONFLICT (hash) DO NOTHING`;
export const INSERT_GENERATIONS = `INSERT INTO generation (seq, account_seq, id, model, status, quoted_credits, reserved_credits, created_at_ms,
    start_deadline_ms, idempotency_key, hold_transfer_no, hold_previous_seq, hold_available_after, hold_held_after, hold_epoch, hold_hash, key_seq,
    max_cost_credits, request_id, plan_seq, body, input_defaults, expected_delivery, labels, end_user_seq)
  SELECT seq, account, id, model, 'queued', quoted, reserved, created_at, wait_ends_at, key, chain, previous, available, held, epoch, hash,
    key_seq, max_cost, request, (SELECT p.seq FROM plan p WHERE p.hash = x.plan_hash), body, added, ordered, labels,
    (SELECT u.seq FROM end_user u WHERE u.account_seq = x.account AND u.term = x.end_user) FROM ${rowsOf(
      "?1",
      {
        ...{
          seq: "bigint",
          account: "bigint",
          id: "text",
          model: "text",
          quoted: "bigint",
          reserved: "bigint",
          created_at: "bigint",
        },
        ...{ wait_ends_at: "bigint", key: "text", chain: "bigint", previous: "bigint", available: "bigint", held: "bigint" },
        ...{ epoch: "bigint", hash: "text", key_seq: "bigint", max_cost: "bigint", request: "text", plan_hash: "text" },
        ...{ body: "text", added: "text", ordered: "text", labels: "text", end_user: "text" },
      },
      "x",
    )}`;
export const INSERT_END_USERS = `WITH named AS (SELECT * FROM ${rowsOf("?1", { account: "bigint", name: "text", term: "text", at: "bigint" }, "x")}),
    made AS (INSERT INTO end_user (account_seq, term, created_at_ms) SELECT account, term, at FROM named
      ON CONFLICT (account_seq, term) DO NOTHING RETURNING seq, account_seq, term)
  INSERT INTO end_user_name (end_user_seq, name)
    SELECT m.seq, n.name FROM made m JOIN named n ON n.account = m.account_seq AND n.term = m.term`;
export const INSERT_GENERATION_EVENTS = `INSERT INTO generation_event (generation_seq, version, at_ms, epoch, state_after, event)
  SELECT seq, version, at, epoch, state, event FROM ${rowsOf(
    "?1",
    { seq: "bigint", version: "bigint", at: "bigint", epoch: "bigint", state: "text", event: "text" },
    "x",
  )}`;
export const INSERT_PINS = `INSERT INTO pinned_input (generation_seq, input_no, field, kind, measured_ms, frame_ms)
  SELECT seq, n, field, kind, measured, frame FROM ${rowsOf(
    "?1",
    { seq: "bigint", n: "bigint", field: "text", kind: "text", measured: "bigint", frame: "bigint" },
    "x",
  )}`;
export const INSERT_METADATA = `INSERT INTO generation_metadata (account_seq, name, value, generation_seq)
  SELECT account, name, value, seq FROM ${rowsOf("?1", { account: "bigint", name: "text", value: "text", seq: "bigint" }, "x")}`;
export const PIN_INPUTS = `UPDATE pinned_input p SET sha256 = x.sha256, bytes = x.bytes, mime = x.mime, ms = x.ms, pinned_at_ms = x.at
  FROM ${rowsOf(
    "?1",
    { seq: "bigint", n: "bigint", sha256: "text", bytes: "bigint", mime: "text", ms: "bigint", at: "bigint" },
    "x",
  )} WHERE p.generation_seq = x.seq AND p.input_no = x.n AND p.sha256 IS NULL`;
export const INSERT_INPUT_FILES = `INSERT INTO input_file (generation_seq, input_no, field, kind, file_seq, source_generation_seq, storage_id,
    file_no, object, sha256, bytes, mime)
  SELECT seq, n, field, kind, file, source, storage, file_no, object, sha256, bytes, mime FROM ${rowsOf(
    "?1",
    {
      ...{ seq: "bigint", n: "bigint", field: "text", kind: "text", file: "bigint", source: "bigint", storage: "text" },
      ...{ file_no: "bigint", object: "text", sha256: "text", bytes: "bigint", mime: "text" },
    },
    "x",
  )}`;
export const USE_FILES = `UPDATE uploaded_file f SET last_used_at_ms = greatest(f.last_used_at_ms, x.at),
    expires_at_ms = greatest(f.expires_at_ms, x.expire_at)
  FROM ${rowsOf("?1", { file: "bigint", at: "bigint", expire_at: "bigint" }, "x")} WHERE f.seq = x.file`;
export const INSERT_WEBHOOK_URLS = `INSERT INTO generation_webhook (generation_seq, url) SELECT seq, url FROM ${rowsOf("?1", { seq: "bigint", url: "text" }, "x")}`;
export const INSERT_DELIVERIES = `INSERT INTO webhook_delivery (seq, token, account_seq, endpoint_seq, type, generation_seq, data, sequence,
    created_at_ms, state, due_at_ms, epoch)
  SELECT seq, token, account, endpoint, type, generation, data, sequence, at, 'pending', at, epoch FROM ${rowsOf(
    "?1",
    {
      ...{
        seq: "bigint",
        token: "text",
        account: "bigint",
        endpoint: "bigint",
        type: "text",
        generation: "bigint",
        data: "text",
      },
      ...{ sequence: "bigint", at: "bigint", epoch: "bigint" },
    },
    "x",
  )}`;
export const INSERT_ATTEMPTS = `INSERT INTO attempt (generation_seq, attempt_no, ref, route_id, provider, endpoint, options_seq, kind, price_credits, state)
  SELECT seq, n, ref, route, provider, endpoint, (SELECT o.seq FROM route_options o WHERE o.hash = x.options_hash), kind, price, 'intent'
  FROM ${rowsOf(
    "?1",
    {
      ...{ seq: "bigint", n: "bigint", ref: "text", route: "text", provider: "text", endpoint: "text", options_hash: "text" },
      ...{ kind: "text", price: "bigint" },
    },
    "x",
  )}`;
export const UPDATE_ATTEMPTS = insisting(
  `UPDATE attempt a SET state = coalesce(x.state, a.state), sent_at_ms = coalesce(x.sent_at, a.sent_at_ms),
    ends_at_ms = coalesce(x.ends_at, a.ends_at_ms), job_id = coalesce(x.job, a.job_id), job_urls = coalesce(x.urls, a.job_urls),
    results = coalesce(x.results, a.results), failure = coalesce(x.failure, a.failure),
    watch_until_ms = CASE WHEN x.sets_watch THEN x.watch_until ELSE a.watch_until_ms END, ended_at_ms = coalesce(x.ended_at, a.ended_at_ms)
  FROM ${rowsOf(
    "?1",
    {
      ...{
        seq: "bigint",
        n: "bigint",
        state: "text",
        sent_at: "bigint",
        ends_at: "bigint",
        job: "text",
        urls: "text",
        results: "text",
      },
      ...{ failure: "text", sets_watch: "boolean", watch_until: "bigint", ended_at: "bigint" },
    },
    "x",
  )} WHERE a.generation_seq = x.seq AND a.attempt_no = x.n`,
  "an attempt is not there",
);
export const INSERT_REQUESTS = `INSERT INTO attempt_request (generation_seq, attempt_no, request) SELECT seq, n, request FROM ${rowsOf("?1", { seq: "bigint", n: "bigint", request: "text" }, "x")}`;
/** Inserts the transfers of a batch of admissions and transitions. ledger.ts inserts those of all other mutations. */
export const INSERT_TRANSFERS = `INSERT INTO transfer (seq, account_seq, transfer_no, previous_seq, kind, credits, from_side, to_side, generation_seq,
    attempt_no, available_after, held_after, at_ms, epoch, hash, note)
  SELECT seq, account, chain, previous, kind, credits, from_side, to_side, generation, n, available, held, at, epoch, hash, note FROM ${rowsOf(
    "?1",
    {
      ...{
        seq: "bigint",
        account: "bigint",
        chain: "bigint",
        previous: "bigint",
        kind: "text",
        credits: "bigint",
        from_side: "text",
      },
      ...{
        to_side: "text",
        generation: "bigint",
        n: "bigint",
        available: "bigint",
        held: "bigint",
        at: "bigint",
        epoch: "bigint",
      },
      ...{ hash: "text", note: "text" },
    },
    "x",
  )}`;
export const END_GENERATIONS = insisting(
  `UPDATE generation g SET status = x.status, message = NULL, attempts = x.attempts, cost_credits = x.cost, output = x.output,
    error = x.error, completed_at_ms = x.completed_at, files_expire_at_ms = x.expire_at
  FROM ${rowsOf(
    "?1",
    {
      ...{
        seq: "bigint",
        status: "text",
        attempts: "bigint",
        cost: "bigint",
        output: "text",
        error: "text",
        completed_at: "bigint",
      },
      ...{ expire_at: "bigint" },
    },
    "x",
  )} WHERE g.seq = x.seq AND g.completed_at_ms IS NULL`,
  "a generation has ended before",
);
export const UPDATE_GENERATIONS = insisting(
  `UPDATE generation g SET status = x.status, message = x.message, attempts = x.attempts
  FROM ${rowsOf("?1", { seq: "bigint", status: "text", message: "text", attempts: "bigint" }, "x")}
  WHERE g.seq = x.seq AND g.completed_at_ms IS NULL`,
  "a generation has ended before",
);
export const UPDATE_BALANCES = insisting(
  `UPDATE balance b SET available_credits = x.available, held_credits = x.held, charged_credits = b.charged_credits + x.charged,
    in_progress = x.progress, last_transfer_no = x.chain, last_transfer_seq = x.last_transfer_seq
  FROM ${rowsOf(
    "?1",
    {
      ...{ account: "bigint", available: "bigint", held: "bigint", charged: "bigint", progress: "bigint", chain: "bigint" },
      ...{ last_transfer_seq: "bigint", from_chain: "bigint" },
    },
    "x",
  )} WHERE b.account_seq = x.account AND b.last_transfer_no = x.from_chain AND x.available >= 0 AND x.held >= 0`,
  "the balance does not cover it",
);
const SNAPSHOT: Columns = {
  ...{ seq: "bigint", version: "bigint", from_version: "bigint", state: "text", snapshot: "text" },
  ...{ sets_due: "boolean", deadline_kind: "text", deadline_attempt_no: "bigint", due_at: "bigint" },
};
export const INSERT_SNAPSHOTS = `INSERT INTO snapshot (generation_seq, version, state, deadline_kind, deadline_attempt_no, deadline_at_ms, snapshot)
  SELECT seq, version, state, deadline_kind, deadline_attempt_no, due_at, snapshot FROM ${rowsOf("?1", SNAPSHOT, "x")}`;
export const UPDATE_SNAPSHOTS = insisting(
  `UPDATE snapshot s SET version = x.version, state = x.state, snapshot = x.snapshot,
    deadline_kind = CASE WHEN x.sets_due THEN x.deadline_kind ELSE s.deadline_kind END, deadline_attempt_no = CASE WHEN x.sets_due THEN x.deadline_attempt_no ELSE s.deadline_attempt_no END,
    deadline_at_ms = CASE WHEN x.sets_due THEN x.due_at ELSE s.deadline_at_ms END
  FROM ${rowsOf("?1", SNAPSHOT, "x")} WHERE s.generation_seq = x.seq AND s.version = x.from_version`,
  "the snapshot is of another version",
);
export const DROP_SNAPSHOTS = insisting(
  `DELETE FROM snapshot s USING ${rowsOf("?1", { seq: "bigint", from_version: "bigint" }, "x")} WHERE s.generation_seq = x.seq AND s.version = x.from_version`,
  "the snapshot is of another version",
);
const SPENDS: Columns = { meter: "bigint", day: "bigint", credits: "bigint" };
export const SPEND = `INSERT INTO spend_by_day AS k (spend_limit_seq, day, credits) SELECT meter, day, credits FROM ${rowsOf("?1", SPENDS, "x")}
  ON CONFLICT (spend_limit_seq, day) DO UPDATE SET credits = k.credits + excluded.credits`;
/** `verify` reports a wrong spend limit; it must not prevent the end of a generation. */
export const TAKE_BACK = `UPDATE spend_by_day k SET credits = greatest(0, k.credits - x.credits) FROM ${rowsOf("?1", SPENDS, "x")}
  WHERE k.spend_limit_seq = x.meter AND k.day = x.day`;

const END_USER_DAY = "end_user_seq, day, spent_credits, held_credits, succeeded, failed, charged_credits";
export const HOLD_FOR_END_USERS = `INSERT INTO end_user_day AS d (${END_USER_DAY})
  SELECT u.seq, x.day, x.credits, x.credits, 0, 0, 0
  FROM ${rowsOf("?1", { account: "bigint", term: "text", day: "bigint", credits: "bigint" }, "x")}
  JOIN end_user u ON u.account_seq = x.account AND u.term = x.term
  ON CONFLICT (end_user_seq, day) DO UPDATE
    SET spent_credits = d.spent_credits + excluded.spent_credits, held_credits = d.held_credits + excluded.held_credits`;
/** `verify` reports a wrong count; it must not prevent the end of a generation. */
export const RETURN_TO_END_USERS = `UPDATE end_user_day d SET spent_credits = greatest(0, d.spent_credits - x.released),
    held_credits = greatest(0, d.held_credits - x.held)
  FROM ${rowsOf("?1", { end_user: "bigint", day: "bigint", released: "bigint", held: "bigint" }, "x")}
  WHERE d.end_user_seq = x.end_user AND d.day = x.day`;
export const COUNT_END_USER_ENDS = `INSERT INTO end_user_day AS d (${END_USER_DAY})
  SELECT end_user, day, 0, 0, succeeded, failed, charged
  FROM ${rowsOf("?1", { end_user: "bigint", day: "bigint", succeeded: "bigint", failed: "bigint", charged: "bigint" }, "x")}
  ON CONFLICT (end_user_seq, day) DO UPDATE SET succeeded = d.succeeded + excluded.succeeded, failed = d.failed + excluded.failed,
    charged_credits = d.charged_credits + excluded.charged_credits`;
