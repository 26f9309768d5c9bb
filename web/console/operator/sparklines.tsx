// Small charts of latencies and margins, hidden from screen readers.
import type { VNode } from "preact";

const WIDE = 120;

/** Logarithmic scale from 0.1 s, so that images and videos are both visible. */
const placeOf = (ms: number, longestMs: number): number => {
  const [least, most] = [Math.log(100), Math.log(Math.max(1000, longestMs))];
  return (WIDE * (Math.log(Math.max(100, ms)) - least)) / (most - least);
};

export const LatencySparkline = (of: { p50Ms: number; p90Ms: number; p99Ms: number; longestMs: number }): VNode => {
  const [p50, p90, p99] = [of.p50Ms, of.p90Ms, of.p99Ms].map((ms) => placeOf(ms, of.longestMs));
  return (
    <svg class="bar" viewBox={`0 0 ${WIDE} 8`} width={WIDE} height="8" aria-hidden="true">
      <rect class="bar-back" x="0" y="3" width={WIDE} height="2" />
      <rect class="bar-most" x="0" y="2" width={p99} height="4" />
      <rect class="bar-part" x="0" y="1" width={p90} height="6" />
      <rect class="bar-mark" x={Math.max(0, (p50 ?? 0) - 1)} y="0" width="2" height="8" />
    </svg>
  );
};

/** From −50 to 100 percent; values beyond are drawn at the edge. */
export const MarginBar = ({ leastPercent, mostPercent }: { leastPercent: number; mostPercent: number }): VNode => {
  const place = (percent: number) => (WIDE * (Math.min(100, Math.max(-50, percent)) + 50)) / 150;
  const [from, to, zero] = [place(leastPercent), place(mostPercent), place(0)];
  return (
    <svg class="bar" viewBox={`0 0 ${WIDE} 8`} width={WIDE} height="8" aria-hidden="true">
      <rect class="bar-back" x="0" y="3" width={WIDE} height="2" />
      <rect class={leastPercent < 0 ? "bar-bad" : "bar-part"} x={from} y="1" width={Math.max(3, to - from)} height="6" />
      <rect class="bar-mark" x={zero - 0.5} y="0" width="1" height="8" />
    </svg>
  );
};
