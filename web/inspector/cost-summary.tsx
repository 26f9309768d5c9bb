// Cost summary of a generation: a sentence, amounts, and each attempt.
import type { VNode } from "preact";
import { type AttemptCost, type CostBreakdown, costBreakdownOf } from "../../actors/replay/cost-breakdown.ts";
import type { ReplayStep } from "../../actors/replay/replay.ts";
import type { GenerationHistoryDto } from "../../src/inspector/generation-history-dto.ts";
import { usd } from "../components/format.ts";
import { words } from "../words/inspector-words.ts";
import { elapsed } from "./format.ts";

const Verdict = ({ costs, quotedCredits }: { costs: CostBreakdown; quotedCredits: number }): VNode => {
  const { attempts, chargedCredits, unpaid } = costs;
  const { costs: text } = words.inspector;
  if (unpaid !== null) return <p class="bill-verdict">{unpaid}</p>;
  const paid = attempts.find((attempt) => attempt.chargedCredits > 0) ?? attempts.find(({ look }) => look === "good");
  return (
    <p class="bill-verdict">
      <strong>{text.charged(usd(chargedCredits), paid?.n ?? 0)}</strong>
      {text.delivered}
      {attempts.length > 1 ? ` ${text.others(attempts.length - 1)}` : ""}
      {chargedCredits === quotedCredits ? "" : ` ${text.otherThanQuote(usd(quotedCredits))}`}
    </p>
  );
};

const Attempt = ({ attempt, startMs, endMs }: { attempt: AttemptCost; startMs: number; endMs: number | null }): VNode => {
  const { n, routeId, outcome, look, onTheWay, beganAtMs, endedAtMs, priceCredits, chargedCredits, why } = attempt;
  const untilMs = endedAtMs ?? endMs;
  const { costs: text } = words.inspector;
  return (
    <li class={`is-${look}`}>
      <p>
        <strong>{text.attempt(n)}</strong> {text.on} <code>{routeId}</code>: <strong class="bill-outcome">{outcome}</strong>
        {onTheWay.length > 0 ? ` (${onTheWay.join("; ")})` : ""}.
      </p>
      <p>
        {chargedCredits > 0 ? text.attemptCharged(usd(chargedCredits)) : text.notCharged(usd(priceCredits))}: {why}.
      </p>
      <p class="bill-time">
        {text.began(elapsed(beganAtMs - startMs))}, {untilMs === null ? text.continues : text.took(elapsed(untilMs - beganAtMs))}.
      </p>
    </li>
  );
};

/** @param steps all steps of its replay. */
export const CostSummary = ({ reported, steps }: { reported: GenerationHistoryDto; steps: readonly ReplayStep[] }): VNode => {
  const { generation, accountId, given } = reported;
  const { model, status, quotedCredits, createdAtMs, completedAtMs } = generation;
  const { costs: text } = words.inspector;
  const costs = costBreakdownOf(steps, given.transfers);
  const facts: [string, string | null][] = [
    [text.model, model],
    [completedAtMs === null ? text.state : text.endState, steps.at(-1)?.to ?? status],
    [text.duration, completedAtMs === null ? null : elapsed(completedAtMs - createdAtMs)],
    [text.quoted, usd(quotedCredits)],
    [text.held, usd(costs.heldCredits)],
    [text.chargedFact, usd(costs.chargedCredits)],
    [text.released, usd(costs.releasedCredits)],
    [text.account, accountId],
  ];
  return (
    <section class="bill" aria-label={text.label}>
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
      {costs.attempts.length === 0 ? <p>{text.noAttempt}</p> : null}
      <ol class="bill-attempts" aria-label={text.attempts}>
        {costs.attempts.map((attempt) => (
          <Attempt key={attempt.n} attempt={attempt} startMs={createdAtMs} endMs={completedAtMs} />
        ))}
      </ol>
      {costs.passed.length === 0 ? null : (
        <p>
          {text.skipped}{" "}
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
