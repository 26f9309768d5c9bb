// Time line of a generation as a slider; arrow keys move between steps.
//
// Steps that are close in time are reachable too.
import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { ReplayStep } from "../../actors/replay/replay.ts";
import { elapsed } from "./format.ts";

/** A step, or a function of the current step, because key presses can be faster than rendering. */
export type Go = (to: number | ((at: number) => number)) => void;
type Props = { steps: readonly ReplayStep[]; at: number; go: Go };

const STEPS: Readonly<Record<string, (at: number, last: number) => number>> = {
  ArrowLeft: (at) => at - 1,
  ArrowDown: (at) => at - 1,
  ArrowRight: (at) => at + 1,
  ArrowUp: (at) => at + 1,
  Home: () => 0,
  End: (_, last) => last,
};

/** The step that a key leads to; null for other keys. */
export const moveOfKey = (key: string, last: number): ((at: number) => number) | null => {
  const move = STEPS[key];
  return move ? (at) => move(at, last) : null;
};

export const TimeLine = ({ steps, at, go }: Props): VNode => {
  const ticks = useRef<HTMLDivElement>(null);
  const last = steps.length - 1;
  const startMs = steps[0]?.atMs ?? 0;
  const endMs = Math.max(startMs + 1, ...steps.map(({ atMs }) => atMs));
  const now = steps[at];
  // The security policy of the page forbids inline styles in markup.
  useLayoutEffect(() => {
    for (const [place, tick] of [...(ticks.current?.children ?? [])].entries()) {
      const share = ((steps[place]?.atMs ?? startMs) - startMs) / (endMs - startMs);
      (tick as HTMLElement).style.setProperty("--share", String(share));
    }
  }, [steps, startMs, endMs]);
  const onKey = (event: KeyboardEvent) => {
    const move = moveOfKey(event.key, last);
    if (move === null) return;
    event.preventDefault();
    event.stopPropagation();
    go(move);
  };
  /** The last step at or before the chosen time. */
  const onTime = (event: Event) => {
    const timeMs = Number((event.target as HTMLInputElement).value);
    go(
      Math.max(
        0,
        steps.findLastIndex(({ atMs }) => atMs <= timeMs),
      ),
    );
  };
  const spoken = now ? `step ${at} of ${last}, after ${elapsed(now.atMs - startMs)}: ${now.description}` : "";
  return (
    <div class="replay-time">
      <div class="replay-buttons">
        <button type="button" onClick={() => go(0)} disabled={at === 0} aria-label="First step">
          «
        </button>
        <button type="button" onClick={() => go((now) => now - 1)} disabled={at === 0} aria-label="Step back">
          ‹
        </button>
        <button type="button" onClick={() => go((now) => now + 1)} disabled={at >= last} aria-label="Step forward">
          ›
        </button>
        <button type="button" onClick={() => go(last)} disabled={at >= last} aria-label="Last step">
          »
        </button>
        <output>
          Step {at} of {last}, +{elapsed((now?.atMs ?? startMs) - startMs)}
        </output>
      </div>
      <div class="replay-slider">
        <input
          type="range"
          min={startMs}
          max={endMs}
          step={1}
          value={now?.atMs ?? startMs}
          aria-label="Time"
          aria-valuetext={spoken}
          onKeyDown={onKey}
          onInput={onTime}
        />
        <div class="replay-ticks" ref={ticks} aria-hidden="true">
          {steps.map(({ version, fault }) => (
            <span key={version} class={fault === null ? "" : "is-wrong"} />
          ))}
        </div>
      </div>
    </div>
  );
};
