// Formats rows of a file for PostgreSQL's COPY, in bounded pages.
//
// Characters that PostgreSQL rejects are replaced.
import { readable } from "../postgres/flush-batch.ts";
import type { Value } from "../sql/sql-program.ts";
import type { FileRow, MigratedTable, Shape } from "./tables.ts";

export type Page = {
  /** In COPY's text format, for `columns` in order. */
  text: string;
  columns: readonly string[];
  rows: number;
  /** The key of the last row. */
  last: Value[];
  /** Number of texts with replaced characters, and the bytes by which they became shorter. */
  replaced: number;
  replacedBytes: number;
};

/** Large enough that the cost of a transaction is small, and small enough for flat memory and a fast stop. */
export const PAGE_ROWS = 20_000;
const PAGE_CHARS = 4_000_000;

/** JSON columns with external text whose fields are read by statements. */
const JSON_COLUMNS: ReadonlySet<string> = new Set(["failure", "job_urls", "results", "output", "error"]);
const UNREADABLE = /\\u(0000|d[89a-f][0-9a-f]{2})/i;

/** The same JSON, except that NUL and unpaired surrogates are replaced, which PostgreSQL rejects. */
const readableJson = (text: string): string => {
  if (!UNREADABLE.test(text)) return text;
  let isReplaced = false;
  const json = JSON.stringify(JSON.parse(text), (name, value: unknown) => {
    const after = readable(name, value);
    isReplaced ||= after !== value;
    return after;
  });
  return isReplaced ? json : text;
};

/** PostgreSQL rejects NUL in a text. */
const replaceNul = (column: string, text: string): string => {
  const whole = text.includes("\0") ? text.replaceAll("\0", "\ufffd") : text;
  return JSON_COLUMNS.has(column) ? readableJson(whole) : whole;
};

const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };
const escaped = (text: string): string =>
  /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, (sign) => ESCAPES[sign] ?? sign) : text;

/** Groups rows in key order into pages. */
export const pagesOf = function* (
  rows: Iterable<FileRow>,
  { added }: MigratedTable,
  { columns, key }: Shape,
  movedAtMs: number,
  pageRows: number,
): Generator<Page> {
  const empty = (): Page => ({ text: "", columns, rows: 0, last: [], replaced: 0, replacedBytes: 0 });
  let page = empty();
  const cell = (column: string, value: Value): string => {
    if (value === null) return "\\N";
    if (typeof value === "number") return String(value);
    const text = replaceNul(column, value);
    if (text !== value) {
      page.replaced += 1;
      page.replacedBytes += Buffer.byteLength(value) - Buffer.byteLength(text);
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
