// Rows of a CSV file (RFC 4180) that no spreadsheet takes for formulas.

/** A number is written as it is; text may have been chosen by anybody. */
export type Cell = string | number | null | { number: string };

/** A spreadsheet computes what begins so. */
const FORMULA = /^[=+\-@\t\r]/;

const textCell = (text: string): string => {
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
};

/** One row with its line end. */
export const csvRow = (cells: readonly Cell[]): string =>
  `${cells
    .map((cell) => {
      if (cell === null) return "";
      if (typeof cell === "string") return textCell(cell);
      return typeof cell === "number" ? String(cell) : cell.number;
    })
    .join(",")}\r\n`;

/** A file to keep, of one person's: no cache may have it. */
export const csvFile = (name: string, body: string | ReadableStream<Uint8Array>): Response =>
  new Response(body, {
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="${name}"`,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
  });
