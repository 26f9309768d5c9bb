// Flags of a key's policy, and the printed row of a key.
import type { Command } from "commander";
import { type KeyChange, type ListedKey, MAX_OVERLAP_MS } from "../admin/keys.ts";
import { KEY_WINDOWS, type KeyLimits } from "../domain/types.ts";
import { CommandError, EXITS } from "./exit-codes.ts";
import { spanMs, untilMs } from "./parse-time.ts";
import { table } from "./terminal.ts";
import { parseUsd, showUsd, usdNumber } from "./usd.ts";

export type TermFlags = { expires?: string; limitDay?: string; limitWeek?: string; limitMonth?: string; models?: string };

/** `none`: words that remove a policy, where one may already be set. */
export const withTerms = (command: Command, none: { never: string; none: string; all: string }): Command =>
  command
    .option("--expires <when>", `expiry: 12h, 90d or 2027-01-31${none.never}`)
    .option("--limit-day <usd>", `spending limit per UTC day${none.none}`)
    .option("--limit-week <usd>", `spending limit per week from Monday${none.none}`)
    .option("--limit-month <usd>", `spending limit per calendar month${none.none}`)
    .option("--models <ids>", `allowed models, separated by commas${none.all}`);

/** The policy from the flags. @throws CommandError (usage) */
export const termsOf = (flags: TermFlags, nowMs: number): Omit<KeyChange, "name"> => {
  const { expires, models } = flags;
  const texts = { day: flags.limitDay, week: flags.limitWeek, month: flags.limitMonth };
  const limits: Partial<Record<keyof KeyLimits, number | null>> = {};
  for (const window of KEY_WINDOWS) {
    const text = texts[window];
    if (text !== undefined) limits[window] = text === "none" ? null : parseUsd(text, `--limit-${window}`);
  }
  const named = models?.split(",").map((id) => id.trim());
  if (named?.some((id) => id === ""))
    throw new CommandError(EXITS.usage, "--models: expected model ids separated by commas, or all", { code: "bad_flag" });
  return {
    ...(expires === undefined ? {} : { expiresAtMs: expires === "never" ? null : untilMs(expires, "--expires", nowMs) }),
    ...(named === undefined ? {} : { models: models === "all" ? null : named }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
};

/** Time for which a rotated key remains valid. @throws CommandError (usage) */
export const overlapOf = (text: string): number => {
  const ms = text === "0" ? 0 : spanMs(text);
  if (ms === undefined || ms > MAX_OVERLAP_MS)
    throw new CommandError(EXITS.usage, `--overlap: ${JSON.stringify(text)} is not a time from 0s to 30d`, { code: "bad_flag" });
  return ms;
};

const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
const usd = (credits: number | null) => (credits === null ? null : usdNumber(credits));

export const keyJson = ({ limits, spend, ...row }: ListedKey) => ({
  id: row.id,
  account: row.accountId,
  scope: row.scope,
  name: row.name,
  start: row.start,
  created_at: time(row.createdAtMs),
  expires_at: time(row.expiresAtMs),
  revoked_at: time(row.revokedAtMs),
  last_used_at: time(row.lastUsedAtMs),
  rotated_from: row.rotatedFrom,
  models: row.models,
  limits: Object.fromEntries(
    KEY_WINDOWS.map((window) => [
      window,
      limits[window] === null ? null : { usd: usd(limits[window]), spent_usd: usd(spend.windows?.[window] ?? 0) },
    ]),
  ),
  spent_30d_usd: usd(spend.last30Credits),
});

const stateOf = ({ revokedAtMs, expiresAtMs }: ListedKey, nowMs: number): string => {
  if (revokedAtMs !== null) return "revoked";
  if (expiresAtMs === null) return "active";
  return expiresAtMs <= nowMs ? "expired" : `until ${new Date(expiresAtMs).toISOString().slice(0, 16)}`;
};

/** `$1.20 of $5.00 a day, …` */
const limitsOf = ({ limits, spend }: ListedKey): string =>
  KEY_WINDOWS.flatMap((window) => {
    const limit = limits[window];
    return limit === null ? [] : [`${showUsd(spend.windows?.[window] ?? 0)} of ${showUsd(limit)} a ${window}`];
  }).join(", ");

export const keyLines = (rows: readonly ListedKey[], nowMs: number): string[] =>
  table(
    ["ID", "ACCOUNT", "KEY", "SCOPE", "STATE", "LAST USED", "30 DAYS", "LIMITS", "MODELS", "CREATED", "NAME"],
    rows.map((row) => [
      row.id,
      row.accountId,
      `${row.start}…`,
      row.scope,
      stateOf(row, nowMs),
      time(row.lastUsedAtMs)?.slice(0, 16) ?? "never",
      showUsd(row.spend.last30Credits),
      limitsOf(row),
      row.models === null ? "all" : row.models.join(","),
      new Date(row.createdAtMs).toISOString().slice(0, 16),
      row.name,
    ]),
    [6],
  );
