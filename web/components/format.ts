// How amounts and times are written on every page.

/** `$1,234.50`; below zero with a minus before the sign. */
export const usd = (credits: number): string =>
  `${credits < 0 ? "−" : ""}${(Math.abs(credits) / 100).toLocaleString("en-US", { style: "currency", currency: "USD" })}`;

/** In the reader's own time zone, which it names, to the minute: `Nov 24, 2026, 3:05 PM GMT+1`. */
export const timeText = (atMs: number): string =>
  new Date(atMs).toLocaleString(undefined, {
    ...{ year: "numeric", month: "short", day: "numeric", hour: "numeric", minute: "2-digit" },
    timeZoneName: "short",
  });

/** A day of those that the service counts: `19 Oct 2026 UTC`. */
export const dayText = (atMs: number): string =>
  `${new Date(atMs).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" })} UTC`;
