// How amounts and times are written on every page.

/** `$1,234.50`; below zero with a minus before the sign. */
export const usd = (credits: number): string =>
  `${credits < 0 ? "−" : ""}${(Math.abs(credits) / 100).toLocaleString("en-US", { style: "currency", currency: "USD" })}`;

/** In the reader's own time zone, to the minute. */
export const timeText = (atMs: number): string =>
  new Date(atMs).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
