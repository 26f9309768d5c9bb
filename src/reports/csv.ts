// Writes CSV (RFC 4180) that spreadsheets do not interpret as formulas.

/** A number is written unchanged; a text may be chosen by a user and is escaped. */
export type Cell = string | number | null | { number: string };

/** Spreadsheets evaluate a cell that starts with one of these characters. */
const FORMULA = /^[=+\-@\t\r]/;

const textCell = (text: string): string => {
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
};

/** One row including its line end. */
export const csvRow = (cells: readonly Cell[]): string =>
  `${cells
    .map((cell) => {
      if (cell === null) return "";
      if (typeof cell === "string") return textCell(cell);
      return typeof cell === "number" ? String(cell) : cell.number;
    })
    .join(",")}\r\n`;

/** A CSV download with personal data; caches must not store it. */
export const csvFile = (name: string, body: string | ReadableStream<Uint8Array>): Response =>
  new Response(body, {
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="${name}"`,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
  });
