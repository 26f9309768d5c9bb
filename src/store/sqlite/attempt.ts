// Writes attempt rows.
import type { Database } from "bun:sqlite";
import type { AttemptWrites } from "../decide/attempt-writes.ts";
import type { TransitionRows } from "../decide/transition.ts";
import { MutationRejected } from "../sql/mutation-rejected.ts";
import { prepareInterned } from "./interned-strings.ts";

const json = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

export const prepareAttempts = (db: Database) => {
  const insert = db.prepare(
    `INSERT INTO attempt (generation_seq, attempt_no, ref, route_id, provider, endpoint, options_seq, kind, price_credits, state)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'intent')`,
  );
  const options = prepareInterned(db, "route_options", "options");
  const insertRequest = db.prepare("INSERT INTO attempt_request VALUES (?1, ?2, ?3)");
  const insertAnswer = db.prepare(
    "INSERT INTO attempt_answer (generation_seq, attempt_no, results, failure) VALUES (?1, ?2, ?3, ?4)",
  );
  const update = db.prepare(
    `UPDATE attempt SET state = coalesce(?3, state), sent_at_ms = coalesce(?4, sent_at_ms), ends_at_ms = coalesce(?5, ends_at_ms),
       job_id = coalesce(?6, job_id), job_urls = coalesce(?7, job_urls), watch_until_ms = iif(?8, ?9, watch_until_ms),
       ended_at_ms = coalesce(?10, ended_at_ms)
     WHERE generation_seq = ?1 AND attempt_no = ?2`,
  );
  const select = db.prepare<{ price: number; state: string }, [number, number]>(
    "SELECT price_credits AS price, state FROM attempt WHERE generation_seq = ?1 AND attempt_no = ?2",
  );

  return {
    /** Writes a change. @throws MutationRejected if the attempt does not exist. */
    write: (seq: number, { n, begin, columns, request }: AttemptWrites): void => {
      if (begin) {
        const { ref, route, priceCredits } = begin;
        insert.run(
          seq,
          n,
          ref,
          route.routeId,
          route.provider,
          route.endpoint,
          options.seqOf(JSON.stringify(route.options)),
          route.kind,
          priceCredits,
        );
      }
      if (columns) {
        const { changes } = update.run(
          seq,
          n,
          columns.state ?? null,
          columns.sentAtMs ?? null,
          columns.endsAtMs ?? null,
          columns.job?.jobId ?? null,
          json(columns.job?.urls),
          columns.watchUntilMs === undefined ? 0 : 1,
          columns.watchUntilMs ?? null,
          columns.endedAtMs ?? null,
        );
        if (changes === 0) throw new MutationRejected(`generation ${seq} has no attempt ${n}`);
        const { results, failure } = columns;
        if (results !== undefined || failure !== undefined) insertAnswer.run(seq, n, json(results), json(failure));
      }
      if (request !== undefined) insertRequest.run(seq, n, request);
    },
    /** Price and state of an attempt for its capture. */
    find: (seq: number, n: number): TransitionRows["captured"] => {
      const row = select.get(seq, n);
      return row ? { priceCredits: row.price, isDelivered: row.state === "delivered" } : undefined;
    },
    /** Drops cached rows after a rollback. */
    forget: (): void => options.forget(),
  };
};
export type Attempts = ReturnType<typeof prepareAttempts>;
