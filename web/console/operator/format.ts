// Formats durations, percentages and counts on the operator pages, and parses typed values.

/** `0.42 s`, `12 s`, `3 min 20 s`. */
export const span = (ms: number): string => {
  const s = ms / 1000;
  if (s < 10) return `${Number(s.toFixed(2))} s`;
  if (s < 120) return `${Math.round(s)} s`;
  const [min, rest] = [Math.floor(s / 60), Math.round(s % 60)];
  return rest === 0 ? `${min} min` : `${min} min ${rest} s`;
};

const AGES: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
];
/** `3 h ago`, `in 20 s`. */
export const relativeAge = (ms: number, nowMs = Date.now()): string => {
  const apart = Math.abs(nowMs - ms);
  const [size, unit] = AGES.find(([each]) => apart >= 2 * each) ?? [1000, "s"];
  const text = `${Math.floor(apart / size)} ${unit}`;
  return ms > nowMs ? `in ${text}` : `${text} ago`;
};

export const percent = (part: number | null): string =>
  part === null ? "–" : `${part >= 99.95 || part === 0 ? Math.round(part) : part.toFixed(1)} %`;

export const count = (n: number, one: string, many = `${one}s`): string => `${n.toLocaleString("en-US")} ${n === 1 ? one : many}`;

/** A reference of one request, so that a repeated one is applied once. `randomUUID` is not available without TLS. */
export const newReference = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** Parses an amount in USD to credits; returns a message if it is invalid. */
export const creditsIn = (text: string): number | string => {
  const typed = text
    .trim()
    .replace(/^\$\s*/, "")
    .replaceAll(",", "");
  if (!/^\d{1,8}(\.\d{1,2})?$/.test(typed) || Number(typed) === 0) return "An amount in USD above zero, such as 25 or 12.50.";
  const credits = Math.round(Number(typed) * 100);
  return credits > 1_000_000_000 ? "At most $10,000,000." : credits;
};
