// The thirteen invariants of a store, as far as its rows can show them; a driver adds what is true of its own way to keep them.
//
// What the store alone cannot show is held against the logs of clients and providers by the crash and simulation audits,
// and by tests of the door:
//
//   5  every id that a client was answered is there, with its account, model, body and key; what a client has seen of an
//      ended generation is byte-equal ever after                                          clients' logs
//   6  every answer for a key carries the one id; another body was answered 409           clients' logs
//   7  a provider saw a reference at most once (at most one job where it knows our key),
//      and only after `sending` was on disk                                               providers' logs
//   8  every job a provider knows is the job of one attempt, or its attempt is an orphan  providers' logs, `orphans`
//  11  no answer, link, log line or metric holds what is another account's, or a secret   tests of the door, canaries
//  12  the writer's connection syncs each commit; one process owns what it writes         asserted at opening, the lock
import type { Check, Clause } from "./check.ts";
import { DELIVERY_CHECKS } from "./deliveries.ts";
import { PROMISE_CHECKS } from "./exactly-once.ts";
import { SOUND_CHECKS } from "./integrity.ts";
import { LEDGER_CHECKS } from "./ledger.ts";
import { LIFE_CHECKS } from "./lifecycle.ts";

/** In the order of their numbers. */
const SHARED: readonly Check<Clause>[] = [
  ...LEDGER_CHECKS,
  ...PROMISE_CHECKS,
  ...LIFE_CHECKS,
  ...SOUND_CHECKS,
  ...DELIVERY_CHECKS,
];

/**
 * The checks as a driver runs them.
 * @param runnable makes a clause what the driver runs. @param own its own clauses, by the number of the invariant that they are part of:
 * at least the walk of the chains (1) and who may have written what (12).
 */
export const checksOf = <Run>(
  runnable: (clause: Clause) => Run,
  own: Readonly<Partial<Record<number, readonly Run[]>>>,
): readonly Check<Run>[] =>
  SHARED.map(({ invariant, name, clauses }) => ({
    ...{ invariant, name },
    clauses: [...(own[invariant] ?? []), ...clauses.map(runnable)],
  }));
