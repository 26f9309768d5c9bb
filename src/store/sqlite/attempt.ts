// Writes attempt rows.
import type { Database } from "bun:sqlite";
import type { AttemptState } from "../../domain/types.ts";
import type { AttemptChange } from "../mutations.ts";
import { MutationRejected } from "../sql/mutation-rejected.ts";
import { prepareInterned } from "./interned-strings.ts";

const UNDER_WAY: ReadonlySet<AttemptState> = new Set(["intent", "sending", "accepted"]);

const json = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

export const prepareAttempts = (db: Database) => {
  const insert = db.prepare(
    `INSERT INTO attempt (generation_seq, attempt_no, ref, route_id, provider, endpoint, options_seq, kind, price_credits, state)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'intent')`,
  );
  const options = prepareInterned(db, "route_options", "options");
  const insertRequest = db.prepare("INSERT INTO attempt_request VALUES (?1, ?2, ?3)");
  const update = db.prepare(
    `UPDATE attempt SET state = coalesce(?3, state), sent_at_ms = coalesce(?4, sent_at_ms), ends_at_ms = coalesce(?5, ends_at_ms),
       job_id = coalesce(?6, job_id), job_urls = coalesce(?7, job_urls), results = coalesce(?8, results),
       failure = coalesce(?9, failure), watch_until_ms = iif(?10, ?11, watch_until_ms), ended_at_ms = coalesce(?12, iif(?13, ?14, ended_at_ms))
     WHERE generation_seq = ?1 AND attempt_no = ?2`,
  );
  const deliver = db.prepare(
    `UPDATE attempt SET state = 'delivered', watch_until_ms = NULL, ended_at_ms = ?3
     WHERE generation_seq = ?1 AND attempt_no = ?2 AND state <> 'delivered'`,
  );
  const selectPrice = db.prepare<{ price: number }, [number, number]>(
    "SELECT price_credits AS price FROM attempt WHERE generation_seq = ?1 AND attempt_no = ?2",
  );

  return {
    /** Writes a change. An end without a time has the time `atMs`. */
    change: (seq: number, change: AttemptChange, atMs: number): void => {
      if (change.begin) {
        const { ref, route, priceCredits } = change.begin;
        insert.run(
          seq,
          change.n,
          ref,
          route.routeId,
          route.provider,
          route.endpoint,
          options.seqOf(JSON.stringify(route.options)),
          route.kind,
          priceCredits,
        );
      }
      const { begin, n, request, ...rest } = change;
      if (Object.keys(rest).length > 0) {
        const { changes } = update.run(
          seq,
          n,
          rest.state ?? null,
          rest.sentAtMs ?? null,
          rest.endsAtMs ?? null,
          rest.job?.jobId ?? null,
          json(rest.job?.urls),
          json(rest.results),
          json(rest.failure),
          rest.watchUntilMs === undefined ? 0 : 1,
          rest.watchUntilMs ?? null,
          rest.endedAtMs ?? null,
          rest.state && !UNDER_WAY.has(rest.state) ? 1 : 0,
          atMs,
        );
        if (changes === 0) throw new MutationRejected(`generation ${seq} has no attempt ${n}`);
      } else if (!begin && request === undefined) throw new MutationRejected(`the change of attempt ${n} changes nothing`);
      if (request !== undefined) insertRequest.run(seq, n, request);
    },
    /** The price of an attempt. @throws MutationRejected if the attempt does not exist. */
    price: (seq: number, n: number): number => {
      const row = selectPrice.get(seq, n);
      if (!row) throw new MutationRejected(`generation ${seq} has no attempt ${n}`);
      return row.price;
    },
    /** Marks the attempt whose files are charged, unless its change did so. */
    deliver: (seq: number, n: number, atMs: number): void => {
      deliver.run(seq, n, atMs);
    },
    /** Drops cached rows after a rollback. */
    forget: (): void => options.forget(),
  };
};
export type Attempts = ReturnType<typeof prepareAttempts>;
