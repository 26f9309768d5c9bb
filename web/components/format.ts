// Formats amounts and times on all pages.

/** `$1,234.50`; a negative amount has a minus before the dollar sign. */
export const usd = (credits: number): string =>
  `${credits < 0 ? "−" : ""}${(Math.abs(credits) / 100).toLocaleString("en-US", { style: "currency", currency: "USD" })}`;

/** Time to the minute in the reader's time zone, which is included: `Nov 24, 2026, 3:05 PM GMT+1`. */
export const timeText = (atMs: number): string =>
  new Date(atMs).toLocaleString(undefined, {
    ...{ year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit" },
    timeZoneName: "short",
  });

/** A day of the service's statistics: `19 Oct 2026 UTC`. */
export const dayText = (atMs: number): string =>
  `${new Date(atMs).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" })} UTC`;
