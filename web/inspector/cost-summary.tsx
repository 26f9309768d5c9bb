// Cost summary of a generation: a sentence, amounts, and each attempt.
import type { VNode } from "preact";
import { type AttemptCost, type CostBreakdown, costBreakdownOf } from "../../actors/replay/cost-breakdown.ts";
import type { ReplayStep } from "../../actors/replay/replay.ts";
import type { GenerationHistoryDto } from "../../src/inspector/generation-history-dto.ts";
import { usd } from "../components/format.ts";
import { elapsed } from "./format.ts";

const othersOf = (count: number): string =>
  count === 0 ? "" : count === 1 ? " The other attempt was not charged." : ` The ${count} other attempts were not charged.`;

const Verdict = ({ costs, quotedCredits }: { costs: CostBreakdown; quotedCredits: number }): VNode => {
  const { attempts, chargedCredits, unpaid } = costs;
  if (unpaid !== null) return <p class="bill-verdict">{unpaid}</p>;
  const paid = attempts.find((attempt) => attempt.chargedCredits > 0) ?? attempts.find(({ look }) => look === "good");
  return (
    <p class="bill-verdict">
      <strong>
        Charged {usd(chargedCredits)} for attempt {paid?.n ?? "?"}
      </strong>
      , which delivered.
      {othersOf(attempts.length - 1)}
      {chargedCredits === quotedCredits
        ? ""
        : ` The quote of ${usd(quotedCredits)} is the price of the first route in the plan. Another route delivered.`}
    </p>
  );
};

const Attempt = ({ attempt, startMs, endMs }: { attempt: AttemptCost; startMs: number; endMs: number | null }): VNode => {
  const { n, routeId, outcome, look, onTheWay, beganAtMs, endedAtMs, priceCredits, chargedCredits, why } = attempt;
  const untilMs = endedAtMs ?? endMs;
  return (
    <li class={`is-${look}`}>
      <p>
        <strong>Attempt {n}</strong> on <code>{routeId}</code>: <strong class="bill-outcome">{outcome}</strong>
        {onTheWay.length > 0 ? ` (${onTheWay.join("; ")})` : ""}.
      </p>
      <p>
        {chargedCredits > 0 ? `Charged ${usd(chargedCredits)}` : `Not charged, price ${usd(priceCredits)}`}: {why}.
      </p>
      <p class="bill-time">
        Began {elapsed(beganAtMs - startMs)} after acceptance,{" "}
        {untilMs === null ? "continues" : `took ${elapsed(untilMs - beganAtMs)}`}.
      </p>
    </li>
  );
};

/** @param steps all steps of its replay. */
export const CostSummary = ({ reported, steps }: { reported: GenerationHistoryDto; steps: readonly ReplayStep[] }): VNode => {
  const { generation, accountId, given } = reported;
  const { model, status, quotedCredits, createdAtMs, completedAtMs } = generation;
  const costs = costBreakdownOf(steps, given.transfers);
  const facts: [string, string | null][] = [
    ["Model", model],
    [completedAtMs === null ? "State" : "End state", steps.at(-1)?.to ?? status],
    ["Duration", completedAtMs === null ? null : elapsed(completedAtMs - createdAtMs)],
    ["Quoted", usd(quotedCredits)],
    ["Held", usd(costs.heldCredits)],
    ["Charged", usd(costs.chargedCredits)],
    ["Released", usd(costs.releasedCredits)],
    ["Account", accountId],
  ];
  return (
    <section class="bill" aria-label="Cost and reasons">
      <Verdict costs={costs} quotedCredits={quotedCredits} />
      <dl class="replay-facts">
        {facts.map(([name, value]) =>
          value === null ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
        )}
      </dl>
      {costs.attempts.length === 0 ? <p>No attempt has begun{completedAtMs === null ? " yet" : ""}.</p> : null}
      <ol class="bill-attempts" aria-label="Attempts">
        {costs.attempts.map((attempt) => (
          <Attempt key={attempt.n} attempt={attempt} startMs={createdAtMs} endMs={completedAtMs} />
        ))}
      </ol>
      {costs.passed.length === 0 ? null : (
        <p>
          Skipped routes:{" "}
          {costs.passed.map(({ routeId, reason }, at) => (
            <span key={`${at}`}>
              {at > 0 ? ", " : ""}
              <code>{routeId}</code> ({reason})
            </span>
          ))}
          .
        </p>
      )}
    </section>
  );
};
