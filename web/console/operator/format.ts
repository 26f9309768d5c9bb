// Formats durations, percentages and numbers on the operator pages, and parses typed values.

import { operatorWords } from "../../words/operator-words.ts";
import { locale } from "../../words/words.ts";

/** `1,234`, `0.42` */
export const number = (n: number, mostDigits = 0): string => n.toLocaleString(locale, { maximumFractionDigits: mostDigits });

/** `0.42 s`, `12 s`, `3 min 20 s`. */
export const span = (ms: number): string => {
  const { seconds, minutes } = operatorWords.operator;
  const s = ms / 1000;
  if (s < 10) return seconds(number(s, 2));
  if (s < 120) return seconds(number(s));
  const [min, rest] = [Math.floor(s / 60), Math.round(s % 60)];
  return minutes(number(min), rest === 0 ? null : number(rest));
};

/** Of a value in percent; `–` if there is none. A minus is a minus sign. */
export const percent = (part: number | null, mostDigits = 1): string =>
  part === null
    ? "–"
    : (part / 100)
        .toLocaleString(locale, { style: "percent", maximumFractionDigits: Math.abs(part) >= 99.95 ? 0 : mostDigits })
        .replace("-", "−");

/** A reference of one request, so that a repeated one is applied once. `randomUUID` is not available without TLS. */
export const newReference = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** Parses an amount in USD to credits; returns a message if it is invalid. */
export const creditsIn = (text: string): number | string => {
  const typed = text
    .trim()
    .replace(/^\$\s*/, "")
    .replaceAll(",", "");
  if (!/^\d{1,8}(\.\d{1,2})?$/.test(typed) || Number(typed) === 0) return operatorWords.operator.amountFault;
  const credits = Math.round(Number(typed) * 100);
  return credits > 1_000_000_000 ? operatorWords.operator.amountMost : credits;
};
