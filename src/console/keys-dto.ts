// What the console's pages about keys and usage are sent: shapes that the server fills and the browser reads. Credits are whole; 1 is 0.01 USD.

import type { Credits, KeyLimits, KeyScope, KeyWindow } from "../domain/types.ts";
import type { UsageBy } from "../store/store.ts";

/** A limit and how much of it is used; `anewAtMs` is when its window begins anew. */
export type LimitView = { limitCredits: Credits; spentCredits: Credits; anewAtMs: number };
export type KeyState = "active" | "expired" | "revoked";
export type KeyView = {
  id: string;
  accountId: string;
  name: string;
  /** Its first characters. */
  start: string;
  scope: KeyScope;
  state: KeyState;
  createdAtMs: number;
  expiresAtMs: number | null;
  revokedAtMs: number | null;
  /** Up to a minute late. */
  lastUsedAtMs: number | null;
  /** The key that it takes the place of, and the one that takes its own. */
  rotatedFrom: string | null;
  rotatedTo: string | null;
  models: readonly string[] | null;
  limits: Record<KeyWindow, LimitView | null>;
  last30Credits: Credits;
};
/** `GET /console/api/keys`. `mayChange`: whoever asks may make, change, rotate and revoke them. */
export type KeysPage = {
  account: { id: string; name: string };
  keys: KeyView[];
  models: { id: string; name: string }[];
  mayChange: boolean;
};
/** `POST /console/api/keys`, and with members left out as they are `PATCH /console/api/keys/:id`. */
export type KeyRequest = {
  name: string;
  scope: KeyScope;
  expiresAtMs: number | null;
  models: string[] | null;
  limits: KeyLimits;
};
/** A key that was made or rotated; `key` is told this once. `fromExpiresAtMs`: when the one it takes the place of is refused. */
export type MadeKey = { id: string; key: string; fromExpiresAtMs: number | null };

/** A day (`2026-10-19`), model, account or key, and what ended there. */
export type UsageLine = {
  of: string;
  /** As people call it. */
  name: string;
  count: number;
  succeeded: number;
  failed: number;
  chargedCredits: Credits;
  /** From submission to success: half took longer. Null where nothing succeeded. */
  medianWaitMs: number | null;
};
/** `GET /console/api/usage?from=2026-10-01&to=2026-10-31&by=day`. Days are in UTC and each is told, whatever ended on it. */
export type UsageView = { by: UsageBy; from: string; to: string; total: UsageLine; lines: UsageLine[] };
