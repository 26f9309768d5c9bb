// The ten figures that matter most, each with its peer, as a table and a chart for docs/SPEED.md.
import type { Result } from "./bench.ts";
import { figure } from "./table.ts";

/** A result, what it says to a reader, and the bench that measures it. */
type Figure = { result: string; says: string; bench: string };

export const TEN_FIGURES: readonly Figure[] = [
  { result: "submit", says: "submissions per second, beside a bare server that commits many rows at once", bench: "submit" },
  {
    result: "submit-peers, BullMQ",
    says: "submissions per second, beside BullMQ on Redis that syncs each write",
    bench: "submit-peers",
  },
  { result: "poll, in flight", says: "polls per second, beside a server that sends a ready string", bench: "poll" },
  {
    result: "lifecycle-peers, BullMQ",
    says: "whole generations per second, beside BullMQ with a worker that does the same",
    bench: "lifecycle-peers",
  },
  {
    result: "lifecycle-peers, pg-boss",
    says: "whole generations per second, beside pg-boss with the same worker",
    bench: "lifecycle-peers",
  },
  {
    result: "routing, Portkey",
    says: "pictures per second, beside the gateway of Portkey, which stores nothing",
    bench: "routing",
  },
  {
    result: "routing, LiteLLM",
    says: "pictures per second, beside the proxy of LiteLLM, which stores nothing",
    bench: "routing",
  },
  {
    result: "added latency p50, pictures of 2 to 6 s",
    says: "delay between the end of a picture at its provider and the response of a waiting client, without callbacks",
    bench: "added-latency",
  },
  { result: "memory, running", says: "memory of a running generation", bench: "memory" },
  { result: "start, 1,000,000 stored", says: "time of a start with a million stored generations", bench: "start" },
];

const commandOf = ({ bench }: Figure) => `npm run bench -- --only ${bench}`;

export const TEN_FIGURES_HEAD = ["what", "ours", "other", "ratio", "target", "sides", "command"];
/** One row for each figure; those that were not measured say so. */
export const tenFiguresRows = (results: readonly Result[]): string[][] =>
  TEN_FIGURES.map((one) => {
    const found = results.find(({ name }) => name === one.result);
    const command = `\`${commandOf(one)}\``;
    if (!found) return [one.says, "not measured", "", "", "", "", command];
    const bound = `${found.wants === "at least" ? "≥" : "≤"} ${found.target}`;
    const { ours, other, unit, ratio, met, sides } = found;
    return [
      one.says,
      `${figure(ours)} ${unit}`,
      `${figure(other)} ${unit}`,
      figure(ratio),
      `${bound}, ${met ? "met" : "missed"}`,
      sides,
      command,
    ];
  });

const WIDTH = 900;
const LEFT = 40;
const ROW = 44;
const TOP = 44;
/** The longest bar is this many times the bar of the other side. */
const LONGEST = 8;

/** For each figure the two sides as bars, the other side with the same length in all. */
export const tenFiguresChart = (results: readonly Result[], title: string): string => {
  const shown = TEN_FIGURES.flatMap((one) => {
    const found = results.find(({ name }) => name === one.result);
    return found && Number.isFinite(found.ratio) ? [{ ...one, found }] : [];
  });
  const unitWidth = (WIDTH - 2 * LEFT) / LONGEST;
  const height = TOP + shown.length * ROW + 12;
  const rows = shown.map(({ says, found }, at) => {
    const y = TOP + at * ROW;
    const width = Math.max(2, Math.min(LONGEST, found.ratio) * unitWidth);
    const better = found.wants === "at least" ? "longer is better" : "shorter is better";
    return [
      `<text x="${LEFT}" y="${y + 8}">${says} (${better})</text>`,
      `<rect x="${LEFT}" y="${y + 14}" width="${width.toFixed(1)}" height="10" fill="${found.met ? "#2e8b57" : "#c0392b"}"/>`,
      `<rect x="${LEFT}" y="${y + 26}" width="${unitWidth.toFixed(1)}" height="6" fill="#8a8f98"/>`,
      `<text x="${(LEFT + width + 6).toFixed(1)}" y="${y + 23}">${figure(found.ratio)} ×</text>`,
    ].join("");
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>Ten figures beside their peers: ${title}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="white"/>`,
    `<text x="10" y="20" font-size="14">${title}; grey: the peer or the bound</text>`,
    ...rows,
    "</svg>",
  ].join("\n");
};
