// Trace of a world: one fixed-width line per event, and a fingerprint of all.
//
// Two runs of a seed must have the same fingerprint.

import { WORLD_BEGINS_MS } from "./timeline.ts";

export type Trace = {
  /** `who`: node, client or provider. `what`: the event. `about`: its subject. */
  report(who: string, what: string, about?: string, detail?: string): void;
  /** The kept lines; all of them if the trace was created with `keepsAll`. */
  lines(): string[];
  /** Of every line, kept or not. */
  fingerprint(): string;
};

/** The number of lines that are kept by default. */
const LAST_LINES = 60;

const stampOf = (ms: number): string => {
  const part = (value: number, width: number) => String(Math.floor(value)).padStart(width, "0");
  return `${part(ms / 3_600_000, 3)}:${part((ms / 60_000) % 60, 2)}:${part((ms / 1000) % 60, 2)}.${part(ms % 1000, 3)}`;
};

type Line = readonly [ms: number, who: string, what: string, about: string, detail: string];
const printed = ([ms, who, what, about, detail]: Line): string =>
  `${stampOf(ms)}  ${who.padEnd(8)} ${what.padEnd(22)} ${about.padEnd(24)} ${detail}`.trimEnd();

export const createTrace = (nowMs: () => number, keepsAll: boolean): Trace => {
  const lines: Line[] = [];
  let hash = 0x811c9dc5;
  const mix = (text: string) => {
    for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  };
  return {
    report: (who, what, about = "", detail = "") => {
      const ms = nowMs();
      hash = Math.imul(hash ^ ms, 0x01000193);
      mix(who);
      mix(what);
      mix(about);
      mix(detail);
      lines.push([ms - WORLD_BEGINS_MS, who, what, about, detail]);
      if (!keepsAll && lines.length > 4 * LAST_LINES) lines.splice(0, lines.length - LAST_LINES);
    },
    lines: () => (keepsAll ? lines : lines.slice(-LAST_LINES)).map(printed),
    fingerprint: () => (hash >>> 0).toString(16).padStart(8, "0"),
  };
};
