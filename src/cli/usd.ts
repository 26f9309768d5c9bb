// Parses and prints US dollars as whole credits, without floating-point arithmetic.
import type { Credits } from "../domain/types.ts";
import { CommandError, EXITS } from "./exit-codes.ts";

/** Maximum amount of one command: 10^9 credits, the maximum balance. */
const MAX_CREDITS = 1_000_000_000;

/**
 * Parses an amount from its digits: `12`, `12.5` and `12.50`; 12.50 USD are 1,250 credits. At most two decimals are allowed.
 * @throws CommandError (usage) naming the flag.
 */
export const parseUsd = (text: string, flag: string): Credits => {
  const match = /^(\d{1,8})(?:\.(\d{1,2}))?$/.exec(text);
  const credits = match ? Number(match[1]) * 100 + Number((match[2] ?? "").padEnd(2, "0")) : 0;
  if (credits < 1 || credits > MAX_CREDITS)
    throw new CommandError(
      EXITS.usage,
      `${flag}: ${JSON.stringify(text)} is not an amount; use 0.01 to 10000000 with at most two decimals, for example 25 or 12.50`,
      { code: "bad_flag" },
    );
  return credits;
};

/** `1250` → `"$12.50"`; negative `"-$12.50"`. */
export const showUsd = (credits: Credits): string => {
  const cents = Math.abs(credits);
  const grouped = String(Math.floor(cents / 100)).replace(/\B(?=(\d{3})+$)/g, ",");
  return `${credits < 0 ? "-" : ""}$${grouped}.${String(cents % 100).padStart(2, "0")}`;
};

/** `12.5` → `1250`: an amount of the API, which has at most two decimals. */
export const creditsOf = (usd: number): Credits => Math.round(usd * 100);

/** `1250` → `12.5`, the JSON number nearest to the amount; it prints with at most two decimals. */
export const usdNumber = (credits: Credits): number => credits / 100;
