// `/inspector/gen_…`: replays a generation in the page by the original statechart.
//
// The input of the replay is the stored generation events.

import type { VNode } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { chartOf } from "../../actors/chart/chart.ts";
import { generationMachine } from "../../actors/generation/machine.ts";
import { marksAt, type Replay, replay, wayOf } from "../../actors/replay/replay.ts";
import type { GenerationHistoryDto } from "../../src/inspector/generation-history-dto.ts";
import { Chart } from "./chart.tsx";
import { CostSummary } from "./cost-summary.tsx";
import { chartFiles, Exports } from "./exports.tsx";
import { StepDetail } from "./step-detail.tsx";
import { StepList } from "./step-list.tsx";
import { type Go, moveOfKey, TimeLine } from "./time-line.tsx";

const CHART = chartOf(generationMachine);

const Verdict = ({ replayed }: { replayed: Replay }): VNode =>
  replayed.agrees ? (
    <p class="replay-verdict is-right" role="status">
      ✓ Events, statechart and ledger agree in all {replayed.steps.length - 1} steps.
    </p>
  ) : (
    <div class="replay-verdict is-wrong" role="alert">
      <p>✗ Events, statechart and ledger disagree:</p>
      <ul>
        {replayed.faults.map((fault) => (
          <li key={fault}>{fault}</li>
        ))}
      </ul>
    </div>
  );

/** True in elements where arrow keys have another meaning. */
const isBusy = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest("input, textarea, select, summary, .scrolls") !== null;

export const ReplayView = ({ reported }: { reported: GenerationHistoryDto }): VNode => {
  const replayed = useMemo(() => replay(reported.given), [reported]);
  const { steps } = replayed;
  const [at, setAt] = useState(steps.length - 1);
  const place = Math.min(at, steps.length - 1);
  const step = steps[place];
  const go: Go = useCallback(
    (to) => setAt((now) => Math.min(steps.length - 1, Math.max(0, typeof to === "number" ? to : to(now)))),
    [steps],
  );
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.altKey || event.ctrlKey || event.metaKey || isBusy(event.target)) return;
      // Up and down scroll the page as usual.
      const move = event.key === "ArrowLeft" || event.key === "ArrowRight" ? moveOfKey(event.key, steps.length - 1) : null;
      if (move === null) return;
      event.preventDefault();
      go(move);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [go, steps]);
  const marks = marksAt(steps, place);
  const { id } = reported.generation;
  return (
    <div class="replay">
      <CostSummary reported={reported} steps={steps} />
      <Verdict replayed={replayed} />
      <TimeLine steps={steps} at={place} go={go} />
      <div class="replay-columns">
        <Chart chart={CHART} {...marks} follow={place} />
        <div class="replay-side">
          {step ? <StepDetail step={step} before={steps[place - 1] ?? null} /> : null}
          <h2>All steps</h2>
          <StepList steps={steps} at={place} go={go} />
        </div>
      </div>
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
          <summary>Request</summary>
          <pre>{JSON.stringify(reported.input, null, 2)}</pre>
        </details>
      )}
    </div>
  );
};
