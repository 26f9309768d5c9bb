// Types of the console's key and usage pages, shared by server and browser.
//
// Credits are whole numbers; 1 credit is 0.01 USD.

import type { Credits, KeyLimits, KeyScope, KeyWindow } from "../domain/types.ts";
import type { UsageView } from "../reports/usage.ts";
import type { UsageSeriesView } from "../reports/usage-series.ts";

/** A limit and its use; `resetsAtMs` is the time when its window resets. */
export type LimitView = { limitCredits: Credits; spentCredits: Credits; resetsAtMs: number };
export type KeyState = "active" | "expired" | "revoked";
export type KeyView = {
  id: string;
  accountId: string;
  name: string;
  /** Visible prefix of the key. */
  start: string;
  scope: KeyScope;
  state: KeyState;
  createdAtMs: number;
  expiresAtMs: number | null;
  revokedAtMs: number | null;
  /** Up to one minute behind. */
  lastUsedAtMs: number | null;
  /** The key that this key replaces, and the key that replaces this key. */
  rotatedFrom: string | null;
  rotatedTo: string | null;
  models: readonly string[] | null;
  limits: Record<KeyWindow, LimitView | null>;
  last30Credits: Credits;
};
/** `GET /console/api/keys`. `mayChange`: the user may create, change, rotate and revoke them. */
export type KeysPage = {
  account: { id: string; name: string };
  keys: KeyView[];
  models: { id: string; name: string }[];
  mayChange: boolean;
};
/** `POST /console/api/keys` and `PATCH /console/api/keys/:id`, where absent members are not changed. */
export type KeyRequest = {
  name: string;
  scope: KeyScope;
  expiresAtMs: number | null;
  models: string[] | null;
  limits: KeyLimits;
};
/** A created or rotated key; `key` is returned only once. `fromExpiresAtMs`: time from which the replaced key is rejected. */
export type CreatedKeyDto = { id: string; key: string; fromExpiresAtMs: number | null };

/** `GET /console/api/usage?from=2026-10-01&to=2026-10-31&by=day`. */
export type UsageDto = UsageView;
/** `GET /console/api/usage/series?by=model&model=…`. */
export type UsageSeriesDto = UsageSeriesView;
export type { UsageLine } from "../reports/usage.ts";
export type { SeriesGrouping } from "../reports/usage-series.ts";
