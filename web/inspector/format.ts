// Formats times, amounts and effects on the inspector pages.
import type { Effect } from "../../actors/generation/types.ts";

const two = (number: number) => String(number).padStart(2, "0");

/** `1.250 s`, `2:03.000`, `1:02:03.000` */
export const elapsed = (ms: number): string => {
  const whole = Math.max(0, Math.round(ms));
  const rest = `${String(whole % 1000).padStart(3, "0")}`;
  const seconds = Math.floor(whole / 1000);
  if (seconds < 60) return `${seconds}.${rest} s`;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(seconds % 60)}.${rest}`;
};

/** `poll (attempt 2)` */
export const describeEffect = (ask: Effect): string => {
  const name = ask.type.replace("effect.", "").replace(/[A-Z]/g, (sign) => ` ${sign.toLowerCase()}`);
  return "n" in ask ? `${name} (attempt ${ask.n})` : name;
};
