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
