// Attempts of a generation on a time axis, as a drawing and as a table.
import type { VNode } from "preact";
import type { AttemptDto, GenerationDetail } from "../../../src/console/generations-dto.ts";
import { words } from "../../words/console-words.ts";
import { usdText } from "../credits/amounts.ts";
import { waited } from "../format.ts";

/** Height of an attempt: its name and its bar. */
const ROW_PX = 44;
const NAME_PX = 18;
const BAR_PX = 16;
const AXIS_PX = 24;
const STEPS_MS = [
  10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_200_000,
];

const nameOf = ({ n, operator }: AttemptDto): string => operator?.routeId ?? words.attemptTable.route(n);

/** At most five marks at round times. */
const marksOf = (spanMs: number): number[] => {
  const step = STEPS_MS.find((one) => spanMs / one <= 5) ?? spanMs;
  return Array.from({ length: Math.floor(spanMs / step) + 1 }, (_, n) => n * step);
};

const Drawing = ({ of, endMs }: { of: GenerationDetail; endMs: number }): VNode => {
  const spanMs = Math.max(1, endMs - of.createdAtMs);
  const at = (ms: number) => `${((Math.min(Math.max(0, ms - of.createdAtMs), spanMs) / spanMs) * 100).toFixed(2)}%`;
  const wide = (fromMs: number, toMs: number) => `${Math.max(0.4, ((toMs - fromMs) / spanMs) * 100).toFixed(2)}%`;
  const height = of.timeline.length * ROW_PX + AXIS_PX;
  const says = of.timeline.map((one) => `${nameOf(one)}: ${one.state}`).join("; ");
  return (
    <svg class="waterfall" width="100%" height={height} role="img" aria-label={words.attemptTable.drawing(waited(spanMs), says)}>
      {marksOf(spanMs).map((ms) => (
        <g key={ms}>
          <line class="mark" x1={at(of.createdAtMs + ms)} x2={at(of.createdAtMs + ms)} y1="0" y2={height - AXIS_PX} />
          <text
            x={at(of.createdAtMs + ms)}
            y={height - 6}
            text-anchor={ms / spanMs > 0.9 ? "end" : ms === 0 ? "start" : "middle"}
          >
            {waited(ms)}
          </text>
        </g>
      ))}
      {of.timeline.map((one, row) => {
        const y = row * ROW_PX + NAME_PX + 4;
        const sentMs = one.sentAtMs ?? one.endedAtMs ?? endMs;
        const overMs = one.endedAtMs ?? endMs;
        return (
          <g key={one.n} class={`attempt is-${one.outcome}`}>
            <rect class="waits" x={at(one.beganAtMs)} y={y} width={wide(one.beganAtMs, sentMs)} height={BAR_PX} />
            {one.sentAtMs !== null && (
              <rect class="works" x={at(sentMs)} y={y} width={wide(sentMs, overMs)} height={BAR_PX} rx="3" />
            )}
            <text x="0" y={row * ROW_PX + NAME_PX}>
              {nameOf(one)}: {one.state}
            </text>
          </g>
        );
      })}
    </svg>
  );
};

const Table = ({ of }: { of: GenerationDetail }): VNode => {
  const { label, columns, after, job } = words.attemptTable;
  const sinceStart = (ms: number): string => after(waited(ms - of.createdAtMs));
  return (
    <div class="cards">
      <table aria-label={label}>
        <thead>
          <tr>
            {Object.entries(columns).map(([name, head]) => (
              <th key={name} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {of.timeline.map((one) => (
            <tr key={one.n}>
              <td data-head={columns.route}>
                {nameOf(one)}
                {one.operator && <span class="muted"> {one.operator.provider}</span>}
              </td>
              <td data-head={columns.outcome}>
                <span>
                  {one.state}. {one.why}
                  {one.operator?.failure && (
                    <code class="said">
                      {one.operator.failure.class}: {one.operator.failure.detail}
                    </code>
                  )}
                  {one.operator?.jobId && <code class="said">{job(one.operator.jobId)}</code>}
                </span>
              </td>
              <td data-head={columns.began}>{sinceStart(one.beganAtMs)}</td>
              <td data-head={columns.sent}>{one.sentAtMs === null ? "–" : sinceStart(one.sentAtMs)}</td>
              <td data-head={columns.took}>
                {one.sentAtMs === null || one.endedAtMs === null ? "–" : waited(one.endedAtMs - one.sentAtMs)}
              </td>
              <td data-head={columns.price}>{usdText(one.priceCredits)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
};

export const Waterfall = ({ of, nowMs }: { of: GenerationDetail; nowMs: number }): VNode => {
  if (of.timeline.length === 0) return <p class="muted">{words.attemptTable.none}</p>;
  const ends = of.timeline.map(({ endedAtMs, sentAtMs, beganAtMs }) => endedAtMs ?? sentAtMs ?? beganAtMs);
  const endMs = of.completedAtMs ?? Math.max(nowMs, ...ends);
  return (
    <>
      <Drawing of={of} endMs={endMs} />
      <Table of={of} />
    </>
  );
};
