// `/inspector/play`: runs the statecharts in the page by hand, without a server.

import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { type Chart as ChartOf, chartOf } from "../../actors/chart/chart.ts";
import { coveredOf } from "../../actors/chart/coverage.ts";
import { MACHINE_NAMES, MACHINES, type MachineName } from "../../actors/chart/machines.ts";
import type { Effect, MachineOutput } from "../../actors/generation/types.ts";
import {
  newPlayground,
  type OfferedEvent,
  offeredEvents,
  type PlayedStep,
  type PlaygroundState,
  play,
  stateOf,
  wait,
} from "../../actors/replay/playground.ts";
import { usd } from "../components/format.ts";
import { words } from "../words/inspector-words.ts";
import { FromTo } from "./arrow.tsx";
import { Chart } from "./chart.tsx";
import { effectText } from "./effect-text.ts";
import { chartFiles, Exports } from "./exports.tsx";
import { elapsed } from "./format.ts";
import { Scrolling } from "./scrolling.tsx";
import { Guards, Memory } from "./step-detail.tsx";

const MINUTE_MS = 60_000;
const WAITS_MS = [MINUTE_MS, 10 * MINUTE_MS, 60 * MINUTE_MS];

/** Output of a step: a write to the store, or an effect after the commit. */
const outputText = (output: MachineOutput): string => {
  const { play: text, step } = words.inspector;
  switch (output.type) {
    case "note.attempt": {
      const { n, state, begin } = output.change;
      const change = state ? step.isNow(state) : begin ? text.begins : text.changes;
      return text.writes(`${step.attempt(n)} ${change}`);
    }
    case "note.pinned":
      return text.writes(text.copies(output.copies.length));
    case "note.capture":
      return text.captures(usd(output.credits), output.n);
    case "note.release":
      return text.releases(output.error.code);
    default:
      return text.effect(effectText(output satisfies Effect));
  }
};

type Game = { steps: PlayedStep[]; standing: PlaygroundState; first: PlaygroundState };
const fresh = (machine: MachineName): Game => {
  const first = newPlayground(machine);
  return { steps: [], standing: first, first };
};

const Offers = ({ offers, report }: { offers: readonly OfferedEvent[]; report: (offered: OfferedEvent) => void }): VNode => (
  <ul class="play-offers">
    {offers.map((offered) => (
      <li key={offered.id}>
        <button type="button" class="play-offer" disabled={offered.answer === null} onClick={() => report(offered)}>
          <code>
            {offered.event.type}
            {offered.about === null ? "" : ` (${words.inspector.step.attempt(offered.about)})`}
          </code>
          <span>{offered.label}</span>
        </button>
      </li>
    ))}
  </ul>
);

const History = ({ steps, first }: { steps: readonly PlayedStep[]; first: PlaygroundState }): VNode => (
  <ol class="step-list play-history" aria-label={words.inspector.play.history}>
    {steps.map((step, place) => (
      <li key={place}>
        <span class="step-time">+{elapsed((step.event.atMs ?? step.after.nowMs) - first.nowMs)}</span>
        <strong>{step.event.type}</strong>
        <span class="step-way">
          <FromTo from={step.from} to={step.to} />
        </span>
        {step.outputs.map((output) => (
          <span key={outputText(output)} class="step-text">
            {outputText(output)}
          </span>
        ))}
      </li>
    ))}
  </ol>
);

const Board = ({ machine, chart, isCovering }: { machine: MachineName; chart: ChartOf; isCovering: boolean }): VNode => {
  const [game, setGame] = useState(() => fresh(machine));
  const { steps, standing, first } = game;
  const { play: text } = words.inspector;
  const state = stateOf(standing);
  const last = steps.at(-1) ?? null;
  const offers = offeredEvents(machine, standing);
  const covered = coveredOf(machine);
  const marks = {
    active: [state],
    edge: last?.transition ?? null,
    taken: steps.flatMap(({ transition }) => transition ?? []),
    ...(isCovering ? { coverage: covered } : {}),
  };
  const report = (offered: OfferedEvent) => {
    const step = play(standing, offered);
    // A second press before the next render refers to a previous state and is ignored.
    setGame((now) => (now === game ? { ...game, steps: [...steps, step], standing: step.after } : now));
  };
  const undo = () => {
    const left = steps.slice(0, -1);
    setGame({ ...game, steps: left, standing: left.at(-1)?.after ?? first });
  };
  const isOver = standing.snapshot.status !== "active";
  const way = new Map<string, number[]>();
  for (const [place, { transition }] of steps.entries())
    if (transition !== null) way.set(transition, [...(way.get(transition) ?? []), place + 1]);
  return (
    <>
      <p class="play-state" role="status">
        {text.current} <strong>{state}</strong>, {text.after(elapsed(standing.nowMs - first.nowMs))}{" "}
        {isOver ? text.over : chart.states.find(({ id }) => id === state)?.description}
      </p>
      <div class="replay-columns">
        <div class="replay-chart">
          <Chart chart={chart} {...marks} follow={`${steps.length} ${standing.nowMs}`} />
        </div>
        <div class="replay-side">
          <h2>{text.send}</h2>
          <div class="play-tools">
            <button type="button" class="button is-small" onClick={undo} disabled={steps.length === 0}>
              {text.back}
            </button>
            <button
              type="button"
              class="button is-small"
              onClick={() => setGame(fresh(machine))}
              disabled={steps.length === 0 && standing === first}
            >
              {text.restart}
            </button>
            {WAITS_MS.map((ms) => (
              <button
                key={ms}
                type="button"
                class="button is-small"
                disabled={isOver}
                onClick={() => setGame({ ...game, standing: wait(standing, ms) })}
              >
                {text.wait(ms / MINUTE_MS)}
              </button>
            ))}
          </div>
          <Scrolling class="play-scroll" label={text.send}>
            <Offers offers={offers} report={report} />
          </Scrolling>
          <h2>{text.history}</h2>
          {steps.length === 0 ? <p>{text.empty}</p> : null}
          <History steps={steps} first={first} />
          {last ? <Guards considered={last.considered} /> : null}
          {standing.snapshot.context && Object.keys(standing.snapshot.context).length > 0 ? (
            <Memory before={(steps.at(-2)?.after ?? first).snapshot.context} after={standing.snapshot.context} />
          ) : null}
        </div>
      </div>
      <Exports
        name={machine}
        make={{
          svg: async () => (await chartFiles()).svgOf(chart, marks),
          mmd: async () => `${(await chartFiles()).mermaidOf(chart, way)}\n`,
          json: () => `${JSON.stringify(chart, null, 2)}\n`,
        }}
      />
    </>
  );
};

export const PlayView = (): VNode => {
  const [machine, setMachine] = useState<MachineName>("generation");
  const [isCovering, setCovering] = useState(false);
  const chart = useMemo(() => chartOf(MACHINES[machine].machine), [machine]);
  const covered = coveredOf(machine).length;
  const { play: text } = words.inspector;
  return (
    <div class="play">
      <div class="play-head">
        <label>
          {text.machine}{" "}
          <select value={machine} onChange={(event) => setMachine((event.target as HTMLSelectElement).value as MachineName)}>
            {MACHINE_NAMES.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          <input type="checkbox" checked={isCovering} onChange={() => setCovering(!isCovering)} />{" "}
          {text.showCoverage(covered, chart.transitions.length)}
        </label>
        <p>{text.about[machine]}</p>
      </div>
      <Board key={machine} machine={machine} chart={chart} isCovering={isCovering} />
    </div>
  );
};
