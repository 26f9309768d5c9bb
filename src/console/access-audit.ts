// Tells the audit log when operators and viewers look at what is another account's: prompts, files and replays, each once an hour.
import type { Clock } from "../domain/clock.ts";
import type { AdminMutation, AdminResult } from "../store/mutations.ts";
import { actorOf, type SignedIn } from "./request-context.ts";

/** `of`: the generation, or the account whose list it is (null: all accounts). `accountId`: whose that is; null: everybody's. */
export type AccessedItem = {
  what: "generations" | "generation" | "files" | "replay";
  of: string | null;
  accountId: string | null;
};
export type AccessAudit = { note(who: SignedIn, look: AccessedItem): void };

/** A page is read again and again while somebody is on it: that is one look. */
const EACH_MS = 3_600_000;
const MOST_REMEMBERED = 10_000;

type ForeignLooksParts = { clock: Pick<Clock, "nowMs">; post: (mutation: AdminMutation) => Promise<AdminResult> };

export const createAccessAudit = ({ clock, post }: ForeignLooksParts): AccessAudit => {
  /** When each was told last, the oldest first. */
  const toldAtMs = new Map<string, number>();
  return {
    note: (who, { what, of, accountId }) => {
      if (accountId !== null && accountId === who.accountId) return;
      const name = `${who.personId} ${what} ${of}`;
      const atMs = clock.nowMs();
      if (atMs - (toldAtMs.get(name) ?? Number.NEGATIVE_INFINITY) < EACH_MS) return;
      toldAtMs.delete(name);
      toldAtMs.set(name, atMs);
      for (const oldest of toldAtMs.keys()) {
        if (toldAtMs.size <= MOST_REMEMBERED) break;
        toldAtMs.delete(oldest);
      }
      // Whoever looks does not wait for it; a store that is away keeps nobody from looking, and the next look tells.
      void post({ mutation: "note-look", what, of, by: actorOf({ who }), atMs }).catch(() => toldAtMs.delete(name));
    },
  };
};
