// Terminal output: standard output, standard error, colours, tables and one progress line.
import { writeSync } from "node:fs";
import { styleText } from "node:util";

type Style = "bold" | "dim" | "red" | "green" | "yellow";

export type Terminal = {
  /** Prints a result line to standard output. */
  print: (line: string) => void;
  /** Prints a note to standard error; suppressed by `--quiet`. */
  note: (line: string) => void;
  /** Prints a warning to standard error, even with `--quiet`. */
  warn: (line: string) => void;
  /** Shows the current state: redrawn in place on a terminal, otherwise one line per change. `null` removes it. */
  progress: (line: string | null) => void;
  paint: (style: Style, text: string) => string;
  /** True if standard error is an interactive terminal. */
  readonly isLive: boolean;
  quiet: boolean;
  colour: boolean;
};

/** Writes everything before it returns, so that an immediate exit loses nothing; waits for a full pipe. */
const writeFully = (fd: 1 | 2, text: string): void => {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; )
    try {
      at += writeSync(fd, bytes, at);
    } catch (fault) {
      if (!(fault instanceof Error && "code" in fault && fault.code === "EAGAIN")) throw fault;
      Bun.sleepSync(1);
    }
};

/** NO_COLOR and TERM=dumb switch colours off and FORCE_COLOR on; otherwise they depend on the terminal. */
export const wantsColour = (env: Record<string, string | undefined>, isTty: boolean): boolean => {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR && env.FORCE_COLOR !== "0") return true;
  return isTty && env.TERM !== "dumb";
};

const CLEAR = "\r\u001b[2K";

/** The terminal of this process. Tests pass their own `write`. */
export const createTerminal = (
  env: Record<string, string | undefined>,
  write: (fd: 1 | 2, text: string) => void = writeFully,
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
        // A wrapped line could not be redrawn, so it is cut to the width.
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

/** A text that others chose, without the control characters that a terminal obeys. */
export const plain = (text: string): string => text.replaceAll(/\p{Cc}/gu, "\ufffd");

/** Columns have the width of their widest cell, except for the last one. `rightOf` lists the columns of numbers. */
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
