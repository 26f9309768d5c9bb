// Rows of a file as PostgreSQL's COPY takes them, a bounded number at a time, and the few texts that it cannot hold as they are.
import { readable } from "../postgres/flush-batch.ts";
import type { Value } from "../sql/sql-program.ts";
import type { FileRow, MigratedTable, Shape } from "./tables.ts";

export type Page = {
  /** In COPY's text format, for `columns` in their order. */
  text: string;
  columns: readonly string[];
  rows: number;
  /** The key of the last row. */
  last: Value[];
  /** Texts in which something was replaced, and by how many bytes they are shorter for it. */
  mended: number;
  mendedBytes: number;
};

/** Large enough that a transaction for each costs little, small enough that memory stays flat and a stop is soon. */
export const PAGE_ROWS = 20_000;
const PAGE_CHARS = 4_000_000;

/** JSON that holds what people outside have said, and that statements look into. */
const SPOKEN: ReadonlySet<string> = new Set(["failure", "job_urls", "results", "output", "error"]);
const UNREADABLE = /\\u(0000|d[89a-f][0-9a-f]{2})/i;

/** A JSON text that PostgreSQL can look into: the same one, but where a NUL or half of a surrogate pair is in it. */
const readableJson = (text: string): string => {
  if (!UNREADABLE.test(text)) return text;
  let isMended = false;
  const json = JSON.stringify(JSON.parse(text), (name, value: unknown) => {
    const after = readable(name, value);
    isMended ||= after !== value;
    return after;
  });
  return isMended ? json : text;
};

/** PostgreSQL keeps no NUL in a text. */
const mend = (column: string, text: string): string => {
  const whole = text.includes("\0") ? text.replaceAll("\0", "\ufffd") : text;
  return SPOKEN.has(column) ? readableJson(whole) : whole;
};

const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };
const escaped = (text: string): string =>
  /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, (sign) => ESCAPES[sign] ?? sign) : text;

/** Makes pages of rows that come in the order of their key. */
export const pagesOf = function* (
  rows: Iterable<FileRow>,
  { added }: MigratedTable,
  { columns, key }: Shape,
  movedAtMs: number,
  pageRows: number,
): Generator<Page> {
  const empty = (): Page => ({ text: "", columns, rows: 0, last: [], mended: 0, mendedBytes: 0 });
  let page = empty();
  const cell = (column: string, value: Value): string => {
    if (value === null) return "\\N";
    if (typeof value === "number") return String(value);
    const text = mend(column, value);
    if (text !== value) {
      page.mended += 1;
      page.mendedBytes += Buffer.byteLength(value) - Buffer.byteLength(text);
    }
    return escaped(text);
  };
  for (const row of rows) {
    const more = added?.(row, movedAtMs) ?? {};
    if (page.rows === 0) page.columns = [...columns, ...Object.keys(more)];
    const cells = columns.map((column) => cell(column, row[column] ?? null));
    for (const [column, value] of Object.entries(more)) cells.push(cell(column, value));
    page.text += `${cells.join("\t")}\n`;
    page.rows += 1;
    page.last = key.map((column) => row[column] ?? null);
    if (page.rows < pageRows && page.text.length < PAGE_CHARS) continue;
    yield page;
    page = empty();
  }
  if (page.rows > 0) yield page;
};
