// Converts keys to their console view: state, limits with spend, and policy.
import { windowEndsAtMs } from "../domain/calendar.ts";
import type { KeyWindow } from "../domain/types.ts";
import type { KeyRow, KeySpend } from "../store/store.ts";
import type { KeyState, KeyView, LimitView } from "./keys-dto.ts";

type Listed = KeyRow & { spend: KeySpend };

const stateOf = ({ revokedAtMs, expiresAtMs }: KeyRow, nowMs: number): KeyState => {
  if (revokedAtMs !== null) return "revoked";
  return expiresAtMs !== null && expiresAtMs <= nowMs ? "expired" : "active";
};

/** Usable keys first, then the newest. */
const inOrder = (a: KeyView, b: KeyView): number =>
  Number(a.state !== "active") - Number(b.state !== "active") || b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1);

export const keyViews = (rows: readonly Listed[], nowMs: number): KeyView[] => {
  const successors = new Map(rows.flatMap(({ id, rotatedFrom }) => (rotatedFrom === null ? [] : [[rotatedFrom, id]])));
  return rows
    .map(({ spend, limits, ...row }): KeyView => {
      const limit = (window: KeyWindow): LimitView | null => {
        const limitCredits = limits[window];
        if (limitCredits === null) return null;
        return { limitCredits, spentCredits: spend.windows?.[window] ?? 0, resetsAtMs: windowEndsAtMs(window, nowMs) };
      };
      return {
        ...row,
        state: stateOf({ ...row, limits }, nowMs),
        rotatedTo: successors.get(row.id) ?? null,
        limits: { day: limit("day"), week: limit("week"), month: limit("month") },
        last30Credits: spend.last30Credits,
      };
    })
    .sort(inOrder);
};
