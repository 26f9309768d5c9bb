// Formats amounts and times on all pages, in the language of the page.
import { locale } from "../words/words.ts";

/** `$1,234.50`; a negative amount has a minus before the dollar sign. */
export const usd = (credits: number): string =>
  `${credits < 0 ? "−" : ""}${(Math.abs(credits) / 100).toLocaleString(locale, { style: "currency", currency: "USD" })}`;

/** A price in USD per unit, which may be a fraction of a cent: `$0.0313`, `$0.10`. */
export const usdRate = (amount: number): string =>
  amount.toLocaleString(locale, { style: "currency", currency: "USD", minimumFractionDigits: 2, maximumFractionDigits: 6 });

/** Credits, which may have decimals; less than a cent is shown to a hundredth of a cent: `$0.004`, `$12.50`. */
export const usdExact = (credits: number): string =>
  credits === 0 || Math.abs(credits) >= 1
    ? usd(credits)
    : `${credits < 0 ? "−" : ""}${usdRate(Math.round(Math.abs(credits) * 100) / 10_000)}`;

/** Time to the minute in the reader's time zone, which is included: `Nov 24, 2026, 3:05 PM GMT+1`. */
export const timeText = (atMs: number): string =>
  new Date(atMs).toLocaleString(locale, {
    ...{ year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit" },
    timeZoneName: "short",
  });

/** `3:05 PM` today, `Nov 24, 3:05 PM` this year, `Nov 24, 2025` before: in the reader's time zone. */
export const shortTimeText = (atMs: number, nowMs: number): string => {
  const [at, now] = [new Date(atMs), new Date(nowMs)];
  const isYear = at.getFullYear() === now.getFullYear();
  const time = { hour: "numeric", minute: "2-digit" } as const;
  if (at.toDateString() === now.toDateString()) return at.toLocaleTimeString(locale, time);
  const day = { month: "short", day: "numeric" } as const;
  return at.toLocaleString(locale, isYear ? { ...day, ...time } : { ...day, year: "numeric" });
};

/** A day of the service's statistics: `Oct 19, 2026 UTC`. */
export const dayText = (atMs: number): string =>
  `${new Date(atMs).toLocaleDateString(locale, { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" })} UTC`;
