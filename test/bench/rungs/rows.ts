// Writes the rows of the bare loop: the service's rows in its schema, by plain statements without lookups.
import type { Database } from "bun:sqlite";
import { chain, type Head, type Transfer } from "../../../src/store/sql/ledger.ts";

/** An event of a generation, and its state after it. */
export type Step = { seq: number; version: number; atMs: number; state: string; event: string };
export type Admission = {
  seq: number;
  id: string;
  accountSeq: number;
  keySeq: number;
  key: string;
  requestId: string;
  createdAtMs: number;
  waitEndsAtMs: number;
};
/** The common data of a loop's generations. */
export type Common = {
  model: string;
  credits: number;
  body: string;
  plan: string;
  options: string;
  /** What the input orders, as JSON. */
  expected: string;
  routeId: string;
  provider: string;
  endpoint: string;
};

/** An account has one generation at a time, so its balance and its chain are known without a query. */
export const openRows = (db: Database, epoch: number, common: Common) => {
  const { model, credits, body, plan, options, expected, routeId, provider, endpoint } = common;
  const seqOf = (table: string, column: string, text: string): number => {
    db.query(`INSERT INTO ${table} (${column}) VALUES (?1) ON CONFLICT DO NOTHING`).run(text);
    return db.query<{ seq: number }, [string]>(`SELECT seq FROM ${table} WHERE ${column} = ?1`).get(text)?.seq ?? 0;
  };
  const [planSeq, optionsSeq] = [seqOf("plan", "routes", plan), seqOf("route_options", "options", options)];
  const heads = new Map<number, Head>(
    db
      .query<Omit<Head, "chainHash"> & { seq: number; hash: string }, []>(
        `SELECT b.account_seq AS seq, b.available_credits AS availableCredits, b.held_credits AS heldCredits, b.in_progress AS inProgress,
           b.last_transfer_no AS chainSeq, b.last_transfer_seq AS chainEnd, m.hash FROM balance b JOIN transfer_log m ON m.seq = b.last_transfer_seq`,
      )
      .all()
      .map(({ seq, hash, ...head }) => [seq, { ...head, chainHash: hash }]),
  );
  let transfer = db.query<{ seq: number | null }, []>("SELECT max(seq) AS seq FROM transfer").get()?.seq ?? 0;
  let newest = 0;

  const insertGeneration = db.prepare(
    `INSERT INTO generation (seq, account_seq, id, model, status, quoted_credits, reserved_credits, created_at_ms, start_deadline_ms,
       idempotency_key, hold_transfer_no, hold_previous_seq, hold_available_after, hold_held_after, hold_epoch, hold_hash, key_seq,
       max_cost_credits, request_id, plan_seq, input_defaults, expected_delivery)
     VALUES (?1, ?2, ?3, ?4, 'queued', ?5, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ${epoch}, ?13, ?14, 10000, ?15, ${planSeq}, '{}', '${expected}')`,
  );
  const insertBody = db.prepare("INSERT INTO generation_request VALUES (?1, ?2, NULL)");
  const setBalance = db.prepare(
    "UPDATE balance SET available_credits = ?2, held_credits = ?3, in_progress = ?4, last_transfer_no = ?5, last_transfer_seq = ?6 WHERE account_seq = ?1",
  );
  const chargeBalance = db.prepare(
    "UPDATE balance SET held_credits = ?2, charged_credits = charged_credits + ?3, in_progress = ?4, last_transfer_no = ?5, last_transfer_seq = ?6 WHERE account_seq = ?1",
  );
  const insertJournal = db.prepare(`INSERT INTO generation_event VALUES (?1, ?2, ?3, ${epoch}, ?4, ?5)`);
  const insertSnapshot = db.prepare("INSERT INTO snapshot VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6)");
  const setSnapshot = db.prepare("UPDATE snapshot SET version = ?2, state = ?3, snapshot = ?4 WHERE generation_seq = ?1");
  const dropSnapshot = db.prepare("DELETE FROM snapshot WHERE generation_seq = ?1");
  const setRunning = db.prepare("UPDATE generation SET status = 'running', attempts = 1 WHERE seq = ?1");
  const insertAttempt = db.prepare(
    `INSERT INTO attempt (generation_seq, attempt_no, ref, route_id, provider, endpoint, options_seq, kind, price_credits, state)
     VALUES (?1, 1, ?2, ?3, ?4, ?5, ${optionsSeq}, 'image', ?6, 'intent')`,
  );
  const insertRequest = db.prepare("INSERT INTO attempt_request VALUES (?1, 1, ?2)");
  const setSending = db.prepare(
    "UPDATE attempt SET state = 'sending', sent_at_ms = ?2, ends_at_ms = ?3 WHERE generation_seq = ?1 AND attempt_no = 1",
  );
  const setAccepted = db.prepare(
    "UPDATE attempt SET state = 'accepted', job_id = ?2, job_urls = ?3 WHERE generation_seq = ?1 AND attempt_no = 1",
  );
  const insertResults = db.prepare("INSERT INTO attempt_answer (generation_seq, attempt_no, results) VALUES (?1, 1, ?2)");
  const setDelivered = db.prepare(
    "UPDATE attempt SET state = 'delivered', ended_at_ms = ?2 WHERE generation_seq = ?1 AND attempt_no = 1",
  );
  const insertTransfer = db.prepare(
    `INSERT INTO transfer VALUES (?1, ?2, ?3, ?4, ?5, 'capture', ?6, 'held', 'charged', ?7, 1, ?8, ?9, ?10, ${epoch}, ?11, NULL)`,
  );
  const setSucceeded = db.prepare(
    "UPDATE generation SET status = 'succeeded', cost_credits = ?2, output = ?3, completed_at_ms = ?4, files_expire_at_ms = ?5 WHERE seq = ?1",
  );

  /** The rows of an account's next transfer, chained in the ledger's format. */
  const moved = (accountSeq: number, move: Transfer, row: number) => {
    const head = heads.get(accountSeq);
    if (!head) throw new Error(`there is no account ${accountSeq}`);
    const { link, hash } = chain(head, move);
    const after: Head = {
      ...{ availableCredits: link.availableAfter, heldCredits: link.heldAfter, inProgress: head.inProgress + move.progress },
      ...{ owedCredits: head.owedCredits, chainSeq: link.chainSeq, chainEnd: row, chainHash: hash },
    };
    heads.set(accountSeq, after);
    return { before: head, after };
  };
  const shared = { credits, attemptN: null, note: null };

  return {
    admit: ({ seq, id, accountSeq, keySeq, key, requestId, createdAtMs, waitEndsAtMs }: Admission) => {
      const hold = {
        ...shared,
        kind: "hold",
        from: "available",
        to: "held",
        generationSeq: seq,
        atMs: createdAtMs,
        progress: 1,
      } as const;
      const { before, after } = moved(accountSeq, hold, -seq);
      const placed = [after.chainSeq, before.chainEnd, after.availableCredits, after.heldCredits, after.chainHash] as const;
      insertGeneration.run(
        ...([seq, accountSeq, id, model, credits, createdAtMs, waitEndsAtMs, key] as const),
        ...placed,
        ...([keySeq, requestId] as const),
      );
      insertBody.run(seq, body);
      setBalance.run(accountSeq, after.availableCredits, after.heldCredits, after.inProgress, after.chainSeq, -seq);
      newest = Math.max(newest, seq);
    },
    /** The begin of an attempt and its sending. */
    send: (begun: Step, taken: Step, sent: { ref: string; request: string; endsAtMs: number; snapshot: string }) => {
      const { seq, version, atMs } = taken;
      insertJournal.run(seq, begun.version, begun.atMs, begun.state, begun.event);
      insertJournal.run(seq, version, atMs, taken.state, taken.event);
      insertAttempt.run(seq, sent.ref, routeId, provider, endpoint, credits);
      setSending.run(seq, atMs, sent.endsAtMs);
      insertRequest.run(seq, sent.request);
      setRunning.run(seq);
      insertSnapshot.run(seq, version, taken.state, "attempt", sent.endsAtMs, sent.snapshot);
    },
    accept: ({ seq, version, atMs, state, event }: Step, jobId: string, urls: string, snapshot: string) => {
      setAccepted.run(seq, jobId, urls);
      insertJournal.run(seq, version, atMs, state, event);
      setSnapshot.run(seq, version, state, snapshot);
    },
    /** The announcement of a result and its delivery. */
    deliver: (
      announced: Step,
      collected: Step,
      end: { accountSeq: number; results: string; output: string; expireAtMs: number },
    ) => {
      const { seq, version, atMs } = collected;
      const { accountSeq, output } = end;
      insertJournal.run(seq, announced.version, announced.atMs, announced.state, announced.event);
      insertJournal.run(seq, version, atMs, collected.state, collected.event);
      insertResults.run(seq, end.results);
      setDelivered.run(seq, atMs);
      transfer += 1;
      const move = {
        ...shared,
        kind: "capture",
        from: "held",
        to: "charged",
        generationSeq: seq,
        attemptN: 1,
        atMs,
        progress: -1,
      } as const;
      const { before, after } = moved(accountSeq, move, transfer);
      const placed = [after.availableCredits, after.heldCredits, atMs, after.chainHash] as const;
      insertTransfer.run(transfer, accountSeq, after.chainSeq, before.chainEnd, newest, credits, seq, ...placed);
      chargeBalance.run(accountSeq, after.heldCredits, credits, after.inProgress, after.chainSeq, transfer);
      setSucceeded.run(seq, credits, output, atMs, end.expireAtMs);
      dropSnapshot.run(seq);
    },
  };
};
export type Rows = ReturnType<typeof openRows>;
