// `/inspector/gen_…`: replays a generation in the page by the original statechart.
//
// The input of the replay is the stored generation events.

import { Check, X } from "lucide";
import type { VNode } from "preact";
import { useCallback, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { chartOf } from "../../actors/chart/chart.ts";
import { generationMachine } from "../../actors/generation/machine.ts";
import { marksAt, type Replay, type ReplayStep, replay, wayOf } from "../../actors/replay/replay.ts";
import type { GenerationHistoryDto } from "../../src/inspector/generation-history-dto.ts";
import { Icon } from "../components/icon.tsx";
import { words } from "../words/inspector-words.ts";
import { Chart } from "./chart.tsx";
import { CostSummary } from "./cost-summary.tsx";
import { chartFiles, Exports } from "./exports.tsx";
import { usePlayback } from "./playback.ts";
import { StepDetail } from "./step-detail.tsx";
import { StepList } from "./step-list.tsx";
import { type Go, moveOfKey, TimeLine } from "./time-line.tsx";

const CHART = chartOf(generationMachine);

const Verdict = ({ replayed }: { replayed: Replay }): VNode =>
  replayed.agrees ? (
    <p class="replay-verdict is-right" role="status">
      <Icon of={Check} size={16} /> {words.inspector.replay.agrees(replayed.steps.length - 1)}
    </p>
  ) : (
    <div class="replay-verdict is-wrong" role="alert">
      <p>
        <Icon of={X} size={16} /> {words.inspector.replay.disagree}
      </p>
      <ul>
        {replayed.faults.map((fault) => (
          <li key={fault}>{fault}</li>
        ))}
      </ul>
    </div>
  );

/** True in elements where arrow keys have another meaning. */
const isBusy = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest("input, textarea, select, summary, .scrolls, [role=tab]") !== null;
/** True in elements that the space bar presses. */
const isPressable = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest("button, a, [role=button]") !== null;

/** The step that is shown, with playback and the keys of the page: arrow keys step, the space bar plays and pauses. */
const useSteps = (steps: readonly ReplayStep[]) => {
  const last = steps.length - 1;
  const [at, setAt] = useState(last);
  const place = Math.min(at, last);
  const move: Go = useCallback(
    (to) => setAt((now) => Math.min(last, Math.max(0, typeof to === "number" ? to : to(now)))),
    [last],
  );
  const playback = usePlayback(place, last, move);
  const go: Go = (to) => {
    playback.stop();
    move(to);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey || isBusy(event.target)) return;
    // Up and down scroll the page as usual.
    const step = event.key === "ArrowLeft" || event.key === "ArrowRight" ? moveOfKey(event.key, last) : null;
    const plays = event.key === " " && !isPressable(event.target);
    if (step === null && !plays) return;
    event.preventDefault();
    if (step) go(step);
    else playback.toggle();
  };
  // Registered before the page is painted, so that an immediate key is handled too.
  useLayoutEffect(() => {
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  });
  return { place, go, playback };
};

export const ReplayView = ({ reported }: { reported: GenerationHistoryDto }): VNode => {
  const replayed = useMemo(() => replay(reported.given), [reported]);
  const { steps } = replayed;
  const { place, go, playback } = useSteps(steps);
  const step = steps[place];
  const marks = marksAt(steps, place);
  const { id } = reported.generation;
  return (
    <div class="replay">
      <div class="replay-summary">
        <CostSummary reported={reported} steps={steps} />
        <Verdict replayed={replayed} />
      </div>
      <div class="replay-stage">
        <div class="replay-chart">
          <TimeLine steps={steps} at={place} go={go} playback={playback} />
          <Chart chart={CHART} {...marks} follow={place} />
        </div>
      </div>
      <div class="replay-side">
        {step ? <StepDetail step={step} before={steps[place - 1] ?? null} /> : null}
        <h2>{words.inspector.replay.allSteps}</h2>
        <StepList steps={steps} at={place} go={go} />
      </div>
      <div class="replay-more">
        <Exports
          name={id}
          make={{
            svg: async () => (await chartFiles()).svgOf(CHART, marks, `Path of ${id}`),
            mmd: async () => `${(await chartFiles()).mermaidOf(CHART, wayOf(steps.slice(0, place + 1)))}\n`,
            json: () =>
              `${JSON.stringify({ generation: reported.generation, agrees: replayed.agrees, faults: replayed.faults, steps }, null, 2)}\n`,
          }}
        />
        {reported.input === null ? null : (
          <details>
            <summary>{words.inspector.replay.request}</summary>
            <pre>{JSON.stringify(reported.input, null, 2)}</pre>
          </details>
        )}
      </div>
    </div>
  );
};
