// Formats results as a table for a terminal or a page, and as a chart of every ratio beside its target.
import type { Result } from "./bench.ts";

/** A bench without a figure, and the reason. */
export type Unmeasured = { name: string; bench: string; reason: string };
export type Absent = { skipped: readonly Unmeasured[]; failed: readonly Unmeasured[] };
const NONE: Absent = { skipped: [], failed: [] };

export const figure = (value: number): string => {
  if (!Number.isFinite(value)) return "—";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
};
const bound = ({ wants, target }: Result) => `${wants === "at least" ? "≥" : "≤"} ${target}`;
const ends = (spread: { least: number; most: number } | undefined) =>
  spread ? `${figure(spread.least)}–${figure(spread.most)}` : "";
const percent = (share: number) => (share * 100).toFixed(0);

const COLUMNS: readonly (readonly [head: string, of: (one: Result) => string, align: "left" | "right"])[] = [
  ["bench", ({ name }) => name, "left"],
  ["ours", ({ ours }) => figure(ours), "right"],
  ["other", ({ other }) => figure(other), "right"],
  ["unit", ({ unit }) => unit, "left"],
  ["ratio", ({ ratio }) => figure(ratio), "right"],
  ["target", (one) => (one.isNote ? "" : bound(one)), "right"],
  ["", ({ met, isNote }) => (isNote ? "no target" : met ? "met" : "MISSED"), "left"],
  ["ours, least–most", ({ spread }) => ends(spread?.ours), "right"],
  ["other, least–most", ({ spread }) => ends(spread?.other), "right"],
  ["load %", ({ share }) => (share ? `${percent(share.ours)} / ${percent(share.other)}` : ""), "right"],
  ["CPU µs", ({ cpuUs }) => (cpuUs ? `${figure(cpuUs.ours)} / ${figure(cpuUs.other)}` : ""), "right"],
  ["sides", ({ sides }) => sides, "left"],
];

/** A row with the reason for missing figures. */
const absentRow = (word: string, { name, reason }: Unmeasured): string[] =>
  COLUMNS.map(([head]) =>
    head === "bench" ? name : head === "" ? word : head === "sides" ? reason.replaceAll(/\s+/g, " ") : "",
  );

const rowsOf = (results: readonly Result[], { skipped, failed }: Absent): string[][] => [
  ...results.map((one) => COLUMNS.map(([, of]) => of(one))),
  ...skipped.map((one) => absentRow("skipped", one)),
  ...failed.map((one) => absentRow("FAILED", one)),
];

export const tableOf = (results: readonly Result[], absent = NONE): string => {
  const rows = [COLUMNS.map(([head]) => head), ...rowsOf(results, absent)];
  const widths = COLUMNS.map((_, at) => Math.max(...rows.map((row) => Bun.stringWidth(row[at] ?? ""))));
  const padded = (text: string, at: number) => {
    const blank = " ".repeat((widths[at] ?? 0) - Bun.stringWidth(text));
    return COLUMNS[at]?.[2] === "right" ? blank + text : text + blank;
  };
  return rows.map((row) => row.map(padded).join("  ").trimEnd()).join("\n");
};

export const markdownOf = (results: readonly Result[], absent = NONE): string =>
  [
    `| ${COLUMNS.map(([head]) => head).join(" | ")} |`,
    `|${COLUMNS.map(([, , align]) => (align === "right" ? " ---: " : " --- ")).join("|")}|`,
    ...rowsOf(results, absent).map((row) => `| ${row.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`),
  ].join("\n");

const WIDTH = 900;
const LEFT = 260;
const ROW = 26;
const TOP = 50;

/** A ratio relative to its target: 1 is the target, 2 is twice as good. */
const marginOf = ({ ratio, target, wants }: Result) => (wants === "at least" ? ratio / target : target / ratio);

/** One bar for each result on a common logarithmic scale around the target. */
export const pictureOf = (results: readonly Result[], title: string): string => {
  const shown = results.filter(({ isNote, ratio }) => !isNote && Number.isFinite(ratio) && ratio > 0);
  const reach = Math.max(1, ...shown.map((one) => Math.abs(Math.log2(marginOf(one)))));
  const middle = LEFT + (WIDTH - LEFT) * 0.45;
  const x = (margin: number) => middle + (Math.log2(margin) / reach) * (WIDTH - LEFT) * 0.35;
  const rows = shown.map((one, at) => {
    const y = TOP + at * ROW;
    const [from, to] = [Math.min(middle, x(marginOf(one))), Math.max(middle, x(marginOf(one)))];
    const said = `${figure(one.ratio)} (${bound(one)})`;
    return [
      `<text x="${LEFT - 10}" y="${y + 14}" text-anchor="end">${one.name}</text>`,
      `<rect x="${from.toFixed(1)}" y="${y + 3}" width="${Math.max(1, to - from).toFixed(1)}" height="14" fill="${one.met ? "#2e8b57" : "#c0392b"}"/>`,
      `<text x="${(to + 6).toFixed(1)}" y="${y + 14}">${said}</text>`,
    ].join("");
  });
  const height = TOP + shown.length * ROW + 20;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>Every ratio beside its target: ${title}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="white"/>`,
    `<text x="10" y="20" font-size="14">${title}</text>`,
    `<text x="${middle.toFixed(0)}" y="40" text-anchor="middle" fill="#555">target</text>`,
    `<line x1="${middle.toFixed(1)}" x2="${middle.toFixed(1)}" y1="${TOP - 4}" y2="${height - 16}" stroke="#555"/>`,
    ...rows,
    "</svg>",
  ].join("\n");
};
