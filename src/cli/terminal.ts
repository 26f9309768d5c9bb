// The terminal: what goes to standard output and standard error, colours, tables, and one progress line that is redrawn.
import { writeSync } from "node:fs";
import { styleText } from "node:util";

type Style = "bold" | "dim" | "red" | "green" | "yellow";

export type Terminal = {
  /** A line of what was asked for: standard output. */
  print: (line: string) => void;
  /** A line about what is going on: standard error; nothing with `--quiet`. */
  note: (line: string) => void;
  /** A line that must be seen: standard error, even with `--quiet`. */
  warn: (line: string) => void;
  /** Shows the newest state: redrawn in place on a terminal, else one line per change. `null` takes it away. */
  progress: (line: string | null) => void;
  paint: (style: Style, text: string) => string;
  /** Whether standard error is a person's terminal. */
  readonly isLive: boolean;
  quiet: boolean;
  colour: boolean;
};

/** Writes all of it before returning, so that an exit right after loses nothing; a full pipe is waited for. */
const writeWhole = (fd: 1 | 2, text: string): void => {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; )
    try {
      at += writeSync(fd, bytes, at);
    } catch (fault) {
      if (!(fault instanceof Error && "code" in fault && fault.code === "EAGAIN")) throw fault;
      Bun.sleepSync(1);
    }
};

/** Colours only where they are wanted: NO_COLOR and TERM=dumb switch them off, FORCE_COLOR on, else a terminal decides. */
export const wantsColour = (env: Record<string, string | undefined>, isTty: boolean): boolean => {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR && env.FORCE_COLOR !== "0") return true;
  return isTty && env.TERM !== "dumb";
};

const CLEAR = "\r\u001b[2K";

/** The terminal of this process. Tests put their own `write` in its place. */
export const createTerminal = (
  env: Record<string, string | undefined>,
  write: (fd: 1 | 2, text: string) => void = writeWhole,
  isTty: { out: boolean; err: boolean } = { out: process.stdout.isTTY === true, err: process.stderr.isTTY === true },
): Terminal => {
  const isLive = isTty.err && env.TERM !== "dumb";
  let drawn = false;
  let last: string | null = null;
  const erase = () => {
    if (drawn) write(2, CLEAR);
    drawn = false;
  };
  const terminal: Terminal = {
    print: (line) => {
      erase();
      write(1, `${line}\n`);
    },
    note: (line) => {
      erase();
      if (!terminal.quiet) write(2, `${line}\n`);
    },
    warn: (line) => {
      erase();
      write(2, `${line}\n`);
    },
    progress: (line) => {
      if (line === null || terminal.quiet) {
        erase();
        last = null;
        return;
      }
      if (isLive) {
        // A line that wraps could not be redrawn, so it is cut to the width.
        write(2, CLEAR + line.slice(0, Math.max(10, (process.stderr.columns || 80) - 1)));
        drawn = true;
      } else if (line !== last) write(2, `${line}\n`);
      last = line;
    },
    paint: (style, text) => (terminal.colour ? styleText(style, text, { validateStream: false }) : text),
    isLive,
    quiet: false,
    colour: wantsColour(env, isTty.out && isTty.err),
  };
  return terminal;
};

/** Columns as wide as their widest cell; the last one is left ragged. `rightOf` names the columns of numbers. */
export const table = (
  head: readonly string[],
  rows: readonly (readonly string[])[],
  rightOf: readonly number[] = [],
): string[] => {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => Bun.stringWidth(row[column] ?? ""))));
  return all.map((row) =>
    row
      .map((cell, column) => {
        const gap = " ".repeat(Math.max(0, (widths[column] ?? 0) - Bun.stringWidth(cell)));
        if (rightOf.includes(column)) return gap + cell;
        return column === head.length - 1 ? cell : cell + gap;
      })
      .join("  ")
      .trimEnd(),
  );
};
