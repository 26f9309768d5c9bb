// Time line of a generation as a slider with playback; arrow keys move between steps.
//
// Steps that are close in time are reachable too, so playback shows each step equally long.
import { Pause, Play, SkipBack, SkipForward, StepBack, StepForward } from "lucide";
import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { ReplayStep } from "../../actors/replay/replay.ts";
import { Icon } from "../components/icon.tsx";
import { words } from "../words/inspector-words.ts";
import { locale } from "../words/words.ts";
import { elapsed } from "./format.ts";
import { type Playback, SPEEDS } from "./playback.ts";

/** A step, or a function of the current step, because key presses can be faster than rendering. */
export type Go = (to: number | ((at: number) => number)) => void;
type Props = { steps: readonly ReplayStep[]; at: number; go: Go; playback: Playback };

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

const Buttons = ({ steps, at, go, playback }: Props): VNode => {
  const { replay: text } = words.inspector;
  const last = steps.length - 1;
  const moves = [
    { name: text.first, icon: SkipBack, to: 0, isPossible: at > 0 },
    { name: text.back, icon: StepBack, to: (now: number) => now - 1, isPossible: at > 0 },
    { name: text.forward, icon: StepForward, to: (now: number) => now + 1, isPossible: at < last },
    { name: text.last, icon: SkipForward, to: last, isPossible: at < last },
  ];
  return (
    <div class="replay-buttons">
      <button type="button" class="button is-main replay-play" onClick={playback.toggle}>
        <Icon of={playback.isPlaying ? Pause : Play} size={16} />
        {playback.isPlaying ? text.pause : text.play}
      </button>
      <label>
        <span class="unseen">{text.speed}</span>
        <select
          value={playback.speed}
          autocomplete="off"
          onChange={({ currentTarget }) => playback.setSpeed(Number(currentTarget.value))}
        >
          {SPEEDS.map((speed) => (
            <option key={speed} value={speed}>
              {speed.toLocaleString(locale)}×
            </option>
          ))}
        </select>
      </label>
      {moves.map(({ name, icon, to, isPossible }) => (
        <button
          key={name}
          type="button"
          class="button is-icon"
          aria-label={name}
          title={name}
          disabled={!isPossible}
          onClick={() => go(to)}
        >
          <Icon of={icon} size={16} />
        </button>
      ))}
      <output>{text.position(at, last, elapsed((steps[at]?.atMs ?? 0) - (steps[0]?.atMs ?? 0)))}</output>
      <span class="replay-keys">{text.keys}</span>
    </div>
  );
};

export const TimeLine = (props: Props): VNode => {
  const { steps, at, go } = props;
  const { replay: text } = words.inspector;
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
  const spoken = now ? text.spoken(at, last, elapsed(now.atMs - startMs), now.description) : "";
  return (
    <div class="replay-time">
      <Buttons {...props} />
      <div class="replay-slider">
        <input
          type="range"
          min={startMs}
          max={endMs}
          step={1}
          value={now?.atMs ?? startMs}
          aria-label={text.time}
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
