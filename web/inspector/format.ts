// Formats times and effects on the inspector pages, in the language of the page.
import type { Effect } from "../../actors/generation/types.ts";
import { locale } from "../words/words.ts";

const two = (number: number) => String(number).padStart(2, "0");

/** `1.250 s`, `2:03.000`, `1:02:03.000`; with the decimal sign of the language */
export const elapsed = (ms: number): string => {
  const whole = Math.max(0, Math.round(ms)) / 1000;
  const digits = { minimumFractionDigits: 3, maximumFractionDigits: 3 };
  if (whole < 60) return `${whole.toLocaleString(locale, digits)} s`;
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const seconds = (whole % 60).toLocaleString(locale, { ...digits, minimumIntegerDigits: 2 });
  return `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${seconds}`;
};

/** Time of day with milliseconds in the reader's time zone: `15:05:01.250`. */
export const clockText = (atMs: number): string =>
  new Date(atMs).toLocaleTimeString(locale, {
    ...{ hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 },
    hourCycle: "h23",
  });

export const number = (value: number): string => value.toLocaleString(locale);

/** The name of an effect as the statechart has it: `poll` */
export const effectName = ({ type }: Effect): string =>
  type.replace("effect.", "").replace(/[A-Z]/g, (sign) => ` ${sign.toLowerCase()}`);
