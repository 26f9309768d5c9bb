// Small bar chart without axes: one bar for each value, for a figure whose value stands beside it.
import type { VNode } from "preact";

type Props = {
  /** What the chart shows, for screen readers. */
  label: string;
  /** Negative values point down. */
  values: readonly number[];
  /** Text of each bar, shown on hover. */
  texts: readonly string[];
};

const WIDTH = 240;
const HEIGHT = 48;
/** Smallest height of a bar that is not zero. */
const LEAST = 2;

export const Sparkline = ({ label, values, texts }: Props): VNode => {
  const [most, least] = [Math.max(0, ...values), Math.min(0, ...values)];
  const scale = most === least ? 0 : HEIGHT / (most - least);
  const zero = most * scale;
  const step = WIDTH / Math.max(1, values.length);
  const gap = Math.min(2, step / 4);
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <line class="sparkline-base" x1={0} x2={WIDTH} y1={Math.min(HEIGHT - 0.5, zero)} y2={Math.min(HEIGHT - 0.5, zero)} />
      {values.map((value, n) => {
        const height = value === 0 ? 0 : Math.max(LEAST, Math.abs(value) * scale);
        return (
          <g key={n} class={value < 0 ? "is-negative" : undefined}>
            <title>{texts[n]}</title>
            <rect class="sparkline-hit" x={n * step} y={0} width={step} height={HEIGHT} />
            <rect
              x={n * step + gap / 2}
              y={value < 0 ? zero : Math.max(0, zero - height)}
              width={step - gap}
              height={height}
              rx={1}
            />
          </g>
        );
      })}
    </svg>
  );
};
