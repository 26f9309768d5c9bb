// Fixture of archive tests: accounts with settled, failed, running, watched and recent generations.

import type { ApplyTransition } from "../../src/domain/transition.ts";
import type { ArchiveSourceLocation } from "../../src/store/archive/source.ts";
import type { Store } from "../../src/store/store.ts";
import { freshDir } from "../cli/fresh-dir.ts";
import {
  type Account,
  admit,
  capturedMutation,
  NOW_MS,
  openAccount,
  PRICES,
  releasedMutation,
  startedMutation,
  stepMutation,
  submittedAt,
  topUp,
} from "../store/fixture.ts";
import { openDirectory } from "../store/open-store.ts";

const DAY_MS = 86_400_000;
/** All generations of the first days are older, and their files are expired. */
export const BEFORE_MS = NOW_MS + 10 * DAY_MS;
const LATER_MS = NOW_MS + 20 * DAY_MS;
export const LATER_BEFORE_MS = NOW_MS + 40 * DAY_MS;

export type Books = {
  store: Store;
  place: ArchiveSourceLocation;
  quiet: Account;
  busy: Account;
  watched: Account;
  drop(): Promise<void>;
};

const at = (atMs: number, mutation: ApplyTransition): ApplyTransition => ({
  ...mutation,
  atMs,
  ...(mutation.settlement?.kind === "capture"
    ? { settlement: { ...mutation.settlement, filesExpireAtMs: atMs + 7 * DAY_MS } }
    : {}),
});

/** Marks its result files as expired after a week. */
export const sweepAt = async (store: Store, seq: number, atMs: number): Promise<void> =>
  void (await store.commit([{ mutation: "expire-files", seq, atMs: atMs + 8 * DAY_MS }]));
/** Completes a generation on route a at a time; its files are still stored. */
export const keepAt = async (store: Store, account: Account, atMs: number): Promise<number> => {
  const mutation = await admit(store, account, submittedAt(atMs));
  await store.commit([at(atMs + 1, startedMutation(mutation)), at(atMs + 2, capturedMutation(mutation.seq, 2, 1, PRICES.a))]);
  return mutation.seq;
};
export const succeedAt = async (store: Store, account: Account, atMs: number): Promise<number> => {
  const seq = await keepAt(store, account, atMs);
  await sweepAt(store, seq, atMs);
  return seq;
};
/** Fails on one route, succeeds on the next: two attempts, and a release beside the capture. */
const fallBackAt = async (store: Store, account: Account, atMs: number): Promise<void> => {
  const mutation = await admit(store, account, { ...submittedAt(atMs), idempotencyKey: `key ${atMs}` });
  await store.commit([
    at(atMs + 1, startedMutation(mutation)),
    at(atMs + 2, stepMutation(mutation.seq, 2, { attemptChanges: [{ n: 1, state: "failed", endedAtMs: atMs + 2 }] })),
  ]);
  await store.commit([at(atMs + 3, startedMutation(mutation, 3, 2, "b"))]);
  await store.commit([at(atMs + 4, capturedMutation(mutation.seq, 4, 2, PRICES.b))]);
  await sweepAt(store, mutation.seq, atMs);
};
const failAt = async (store: Store, account: Account, atMs: number): Promise<void> => {
  const mutation = await admit(store, account, submittedAt(atMs));
  await store.commit([at(atMs + 1, releasedMutation(mutation.seq, 1))]);
};
const startAt = async (store: Store, account: Account, atMs: number): Promise<void> => {
  const mutation = await admit(store, account, submittedAt(atMs));
  await store.commit([at(atMs + 1, startedMutation(mutation))]);
};
/** Ends a generation whose first attempt is still watched. */
const watchAt = async (store: Store, account: Account, atMs: number): Promise<void> => {
  const mutation = await admit(store, account, submittedAt(atMs));
  await store.commit([
    at(atMs + 1, startedMutation(mutation)),
    at(atMs + 2, stepMutation(mutation.seq, 2, { attemptChanges: [{ n: 1, state: "capped", watchUntilMs: LATER_MS }] })),
    at(atMs + 3, releasedMutation(mutation.seq, 3)),
  ]);
};

export const fill = async (store: Store) => {
  const [quiet, busy, watched] = [
    await openAccount(store, 5000),
    await openAccount(store, 5000),
    await openAccount(store, 5000),
  ] as const;
  await succeedAt(store, quiet, NOW_MS + 10);
  await failAt(store, quiet, NOW_MS + 20);
  await fallBackAt(store, busy, NOW_MS + 30);
  // Its hold is old and it stays open; later generations of its account are archived all the same.
  await startAt(store, busy, NOW_MS + 40);
  await succeedAt(store, busy, NOW_MS + 50);
  await topUp(store, busy.seq, 300, "again");
  await succeedAt(store, busy, LATER_MS);
  await succeedAt(store, watched, NOW_MS + 60);
  await watchAt(store, watched, NOW_MS + 70);
  await succeedAt(store, watched, NOW_MS + 80);
  return { quiet, busy, watched };
};
/** Contents of the first archive. The watched generation of `watched` keeps back all that follows it in its account. */
export const FIRST = { generations: 5, transfers: 6 + 9 + 5 };

export const fileBooks = async (): Promise<Books> => {
  const dir = freshDir();
  const store = await openDirectory({ dir, mode: "test" });
  return { store, place: { dir }, ...(await fill(store)), drop: () => store.close() };
};
