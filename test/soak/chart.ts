// Draws resident memory, heap and generations in flight of a soak over time, as one SVG.
import type { Sample } from "./sample.ts";

const WIDTH = 1000;
const HEIGHT = 420;
const MARGIN = 60;

const LINES: readonly (readonly [name: string, colour: string, axis: "mb" | "count", of: (one: Sample) => number])[] = [
  ["RSS, MB", "#c0392b", "mb", ({ rssMb }) => rssMb],
  ["heap, MB", "#2980b9", "mb", ({ heapMb }) => heapMb],
  ["in flight", "#7f8c8d", "count", ({ inFlight }) => inFlight],
];

/** The lines are interrupted where the service was killed. */
export const chartOf = (samples: readonly Sample[]): string => {
  const longestS = Math.max(1, ...samples.map(({ atS }) => atS));
  const top = {
    mb: Math.max(1, ...samples.map(({ rssMb }) => rssMb)) * 1.1,
    count: Math.max(1, ...samples.map(({ inFlight }) => inFlight)) * 1.1,
  };
  const x = (atS: number) => (MARGIN + (atS / longestS) * (WIDTH - 2 * MARGIN)).toFixed(1);
  const y = (value: number, axis: "mb" | "count") => (HEIGHT - MARGIN - (value / top[axis]) * (HEIGHT - 2 * MARGIN)).toFixed(1);
  const lives = [...new Set(samples.map(({ life }) => life))];
  const paths = LINES.flatMap(([, colour, axis, of]) =>
    lives.map((life) => {
      const points = samples.filter((one) => one.life === life).map((one) => `${x(one.atS)},${y(of(one), axis)}`);
      return `<polyline fill="none" stroke="${colour}" stroke-width="1.5" points="${points.join(" ")}"/>`;
    }),
  );
  const words = LINES.map(([name, colour], index) => `<text x="${MARGIN + index * 130}" y="30" fill="${colour}">${name}</text>`);
  const minutes = Array.from({ length: Math.floor(longestS / 300) + 1 }, (_, index) => index * 5);
  const ticks = minutes.map(
    (minute) => `<text x="${x(minute * 60)}" y="${HEIGHT - 35}" text-anchor="middle">${minute} min</text>`,
  );
  const marks = [0.25, 0.5, 0.75, 1].map((share) => {
    const mb = (top.mb / 1.1) * share;
    const at = y(mb, "mb");
    return `<line x1="${MARGIN}" x2="${WIDTH - MARGIN}" y1="${at}" y2="${at}" stroke="#ddd"/><text x="5" y="${at}">${mb.toFixed(0)} MB</text><text x="${WIDTH - MARGIN + 5}" y="${at}">${((top.count / 1.1) * share).toFixed(0)}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>`,
    ...marks,
    ...ticks,
    ...words,
    ...paths,
    "</svg>",
  ].join("\n");
};
