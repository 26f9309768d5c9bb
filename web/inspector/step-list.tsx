// Steps of a replay: event, time, states and transferred amount.

import type { VNode } from "preact";
import type { ReplayStep } from "../../actors/replay/replay.ts";
import { usd } from "../components/format.ts";
import { words } from "../words/inspector-words.ts";
import { FromTo } from "./arrow.tsx";
import { elapsed } from "./format.ts";

type Props = { steps: readonly ReplayStep[]; at: number; go: (at: number) => void };

const Step = ({
  step,
  startMs,
  isNow,
  isTaken,
  choose,
}: {
  step: ReplayStep;
  startMs: number;
  isNow: boolean;
  /** True if another node wrote the step than the one before. */
  isTaken: boolean;
  choose: () => void;
}): VNode => {
  const { replay: text } = words.inspector;
  return (
    <li class={isNow ? "is-now" : ""}>
      <button type="button" onClick={choose} aria-current={isNow ? "step" : undefined}>
        <span class="step-time">+{elapsed(step.atMs - startMs)}</span>
        <strong>{step.event?.type ?? text.acceptance}</strong>
        <span class="step-way">
          <FromTo from={step.from} to={step.to} />
        </span>
        <span class="step-text">{step.description}</span>
        {step.transfers.map(({ kind, credits }) => (
          <span key={kind} class="step-money">
            {kind} {usd(credits)}
          </span>
        ))}
        {isTaken ? <span class="step-text">{text.fromNode(step.node ?? "")}</span> : null}
        {step.fault === null ? null : <span class="step-fault">{text.disagrees}</span>}
      </button>
    </li>
  );
};

export const StepList = ({ steps, at, go }: Props): VNode => (
  <ol class="step-list" start={0} aria-label={words.inspector.replay.steps}>
    {steps.map((step, place) => (
      <Step
        key={step.version}
        isTaken={place > 1 && step.node !== undefined && step.node !== steps[place - 1]?.node}
        step={step}
        startMs={steps[0]?.atMs ?? 0}
        isNow={place === at}
        choose={() => go(place)}
      />
    ))}
  </ol>
);
