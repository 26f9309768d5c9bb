// The thirteen invariants of a store, verified from its rows.
//
// A driver adds its own clauses. Rows alone cannot prove the following parts. The audits of crash and simulation runs compare
// them with the logs of clients and providers, and API tests cover the rest:
//
//      5  every acknowledged id exists, with its account, model, body and key; the response
//         for an ended generation stays byte-identical                                        clients' logs
//      6  every response for a key has the same id; another body is rejected with 409         clients' logs
//      7  a provider receives a reference at most once (at most one job where it supports
//         our key), and only after `sending` is on disk                                       providers' logs
//      8  every job of a provider belongs to one attempt, or its attempt is an orphan         providers' logs, `orphans`
//     11  no response, link, log line or metric contains data of another account or a secret  API tests, canaries
//     12  the writer's connection syncs each commit; one process owns what it writes          asserted on opening, the lock
import type { Check, Clause } from "./check.ts";
import { DELIVERY_CHECKS } from "./deliveries.ts";
import { EXACTLY_ONCE_CHECKS } from "./exactly-once.ts";
import { SOUND_CHECKS } from "./integrity.ts";
import { LEDGER_CHECKS } from "./ledger.ts";
import { LIFECYCLE_CHECKS } from "./lifecycle.ts";

/** In the order of their numbers. */
const SHARED: readonly Check<Clause>[] = [
  ...LEDGER_CHECKS,
  ...EXACTLY_ONCE_CHECKS,
  ...LIFECYCLE_CHECKS,
  ...SOUND_CHECKS,
  ...DELIVERY_CHECKS,
];

/**
 * The checks in the form that the driver runs.
 * @param runnable Converts a clause to the form of the driver.
 * @param own Clauses of the driver by the number of their invariant: at least the chain walk (1) and the writers (12).
 */
export const checksOf = <Run>(
  runnable: (clause: Clause) => Run,
  own: Readonly<Partial<Record<number, readonly Run[]>>>,
): readonly Check<Run>[] =>
  SHARED.map(({ invariant, name, clauses }) => ({
    ...{ invariant, name },
    clauses: [...(own[invariant] ?? []), ...clauses.map(runnable)],
  }));
