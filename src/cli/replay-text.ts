// Formats a replayed generation as text or as a diagram of its path.
import { chartOf } from "../../actors/chart/chart.ts";
import { mermaidOf } from "../../actors/chart/mermaid.ts";
import { svgOf } from "../../actors/chart/svg.ts";
import { generationMachine } from "../../actors/generation/machine.ts";
import { marksAt, type ReplayStep, replay, wayOf } from "../../actors/replay/replay.ts";
import type { GenerationHistory } from "../inspector/generation-history.ts";
import { showUsd } from "./usd.ts";

const two = (number: number) => String(number).padStart(2, "0");
/** `+00:00:06.140` */
const sinceText = (ms: number): string => {
  const whole = Math.max(0, ms);
  return `+${two(Math.floor(whole / 3_600_000))}:${two(Math.floor(whole / 60_000) % 60)}:${two(Math.floor(whole / 1000) % 60)}.${String(whole % 1000).padStart(3, "0")}`;
};

/** Writes, effects and transfers of a step, one line each. */
const detailsOf = (step: ReplayStep): string[] => {
  const guards = step.considered
    .filter(({ guard }) => guard !== "")
    .map(({ guard, holds }) => `${guard}: ${holds ? "yes" : "no"}`);
  const effects = step.effects.map((effect) => `${effect.type.replace("effect.", "")}${"n" in effect ? ` ${effect.n}` : ""}`);
  return [
    ...(step.node === undefined ? [] : [`node     ${step.node}`]),
    ...(guards.length > 0 ? [`guards   ${guards.join(" · ")}`] : []),
    ...step.notes.map(({ n, state, failure, begin }) => {
      const what = [begin ? `begins on ${begin.route.routeId}, ${showUsd(begin.priceCredits)}` : null, state ?? null];
      return `attempt ${n}  ${[...what.filter(Boolean), ...(failure ? [`${failure.class}: ${failure.detail}`] : [])].join("  ")}`.trimEnd();
    }),
    ...(effects.length > 0 ? [`effects  ${effects.join(", ")}`] : []),
    ...step.transfers.map(({ kind, credits, from, to }) => `$        ${kind} ${showUsd(credits)}  ${from} → ${to}`),
    ...(step.fault === null ? [] : [`WRONG    ${step.fault}`]),
  ];
};

const linesOf = ({ record }: GenerationHistory, steps: readonly ReplayStep[]): string[] => [
  `${record.id}  ${record.model}  ${record.status}  account ${record.accountId}  ${new Date(record.createdAtMs).toISOString()}`,
  ...steps.flatMap((step) => [
    `${String(step.version).padStart(3)}  ${sinceText(step.atMs - record.createdAtMs)}  ${step.from === null ? step.to : `${step.from} → ${step.to}`}`,
    `     ${step.event?.type ?? "acceptance"}: ${step.description}`,
    ...detailsOf(step).map((line) => `       ${line}`),
  ]),
];

/** A step as JSON. Scripts of builds before the first release read `told`, `asks` and `movements`, so these members remain. */
const jsonOf = (step: ReplayStep) => ({
  ...step,
  told: step.description,
  asks: step.effects.map((effect) => ({ ...effect, type: effect.type.replace("effect.", "ask.") })),
  movements: step.transfers,
});

/** Exports the replay in a format, and reports its deviations. */
export const exportReplay = async (
  life: GenerationHistory,
  form: "text" | "mermaid" | "svg" | "json",
): Promise<{ text: string; faults: readonly string[] }> => {
  const { steps, agrees, faults } = replay(life.given);
  const chart = chartOf(generationMachine);
  const { id, model, status } = life.record;
  switch (form) {
    case "mermaid":
      return { text: mermaidOf(chart, wayOf(steps)), faults };
    case "svg":
      return { text: svgOf(chart, marksAt(steps, steps.length - 1), `Path of ${id}`), faults };
    case "json":
      return { text: JSON.stringify({ generation: { id, model, status }, agrees, faults, steps: steps.map(jsonOf) }), faults };
    case "text":
      return { text: linesOf(life, steps).join("\n"), faults };
  }
};
