// Records in the audit log when operators and viewers access another account's data.
//
// Prompts, files, replays and webhook secrets are recorded, each at most once an hour.
import type { Clock } from "../domain/clock.ts";
import type { AdminMutation, AdminResult } from "../domain/mutations.ts";
import { actorOf, type SignedIn } from "./request-context.ts";

/**
 * `of`: the generation, the webhook endpoint, or the account whose list it is (null: all accounts). `accountId`: owner of the data; null: all accounts.
 */
export type AccessedItem = {
  what: "generations" | "generation" | "ledger" | "files" | "uploads" | "replay" | "webhook secret";
  of: string | null;
  accountId: string | null;
};
export type AccessAudit = { note(who: Pick<SignedIn, "userId" | "email" | "accountId">, look: AccessedItem): void };

/** A page is reloaded repeatedly while it is open; within this period that counts as one access. */
const EACH_MS = 3_600_000;
const MAX_REMEMBERED = 10_000;

type AccessAuditDeps = { clock: Pick<Clock, "nowMs">; post: (mutation: AdminMutation) => Promise<AdminResult> };

export const createAccessAudit = ({ clock, post }: AccessAuditDeps): AccessAudit => {
  /** Time of the last record of each access, oldest first. */
  const reportedAtMs = new Map<string, number>();
  return {
    note: (who, { what, of, accountId }) => {
      if (accountId !== null && accountId === who.accountId) return;
      const name = `${who.userId} ${what} ${of}`;
      const atMs = clock.nowMs();
      if (atMs - (reportedAtMs.get(name) ?? Number.NEGATIVE_INFINITY) < EACH_MS) return;
      reportedAtMs.delete(name);
      reportedAtMs.set(name, atMs);
      for (const oldest of reportedAtMs.keys()) {
        if (reportedAtMs.size <= MAX_REMEMBERED) break;
        reportedAtMs.delete(oldest);
      }
      // Not awaited: if the store is unavailable, the access is not blocked and the next access is recorded.
      void post({ mutation: "note-look", what, of, by: actorOf({ who }), atMs }).catch(() => reportedAtMs.delete(name));
    },
  };
};
