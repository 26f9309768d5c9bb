// Details of a replay step: guards, writes, effects, transfers and context changes.

import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import type { Considered } from "../../actors/replay/dry-run.ts";
import type { ReplayStep, StateChange } from "../../actors/replay/replay.ts";
import { usd } from "../components/format.ts";
import { words } from "../words/inspector-words.ts";
import { Arrow, FromTo } from "./arrow.tsx";
import { differences } from "./context-diff.ts";
import { effectText } from "./effect-text.ts";
import { Scrolling } from "./scrolling.tsx";

const Part = ({ title, children }: { title: string; children: ComponentChildren }): VNode => (
  <section class="step-part">
    <h3>{title}</h3>
    {children}
  </section>
);

/** The evaluated guards in order; the last one is true. */
export const Guards = ({ considered }: { considered: readonly Considered[] }): VNode | null => {
  const requested = considered.filter(({ guard }) => guard !== "");
  if (requested.length === 0) return null;
  return (
    <Part title={words.inspector.step.guards}>
      <ul>
        {requested.map(({ transition, guard, holds }) => (
          <li key={transition}>
            <code>{guard}</code>: {holds ? words.inspector.step.yes : words.inspector.step.no}
          </li>
        ))}
      </ul>
    </Part>
  );
};

const Ledger = ({ transfers }: { transfers: readonly StateChange[] }): VNode | null =>
  transfers.length === 0 ? null : (
    <Part title={words.inspector.step.ledger}>
      <ul>
        {transfers.map(({ kind, credits, from, to }) => (
          <li key={kind}>
            <strong>
              {kind} {usd(credits)}
            </strong>{" "}
            <FromTo from={from} to={to} />
          </li>
        ))}
      </ul>
    </Part>
  );

const Written = ({ notes, nameOf }: { notes: ReplayStep["notes"]; nameOf: (routeId: string) => string }): VNode | null =>
  notes.length === 0 ? null : (
    <Part title={words.inspector.step.changes}>
      <ul>
        {notes.map(({ n, state, begin, failure }) => (
          <li key={n}>
            {words.inspector.step.attempt(n)}
            {begin ? ` ${words.inspector.step.begins(nameOf(begin.route.routeId), usd(begin.priceCredits))}` : ""}
            {state ? ` ${words.inspector.step.isNow(state)}` : ""}
            {failure ? ` (${failure.class})` : ""}
          </li>
        ))}
      </ul>
    </Part>
  );

/** The context of the statechart, with changed members marked. */
export const Memory = ({ before, after }: { before: object | null; after: object }): VNode => {
  const [isWhole, setWhole] = useState(false);
  const all = differences(before, after);
  const shown = isWhole ? all : all.filter(({ isChanged }) => isChanged);
  const { step: text } = words.inspector;
  return (
    <Part title={text.context}>
      <label class="step-whole">
        <input type="checkbox" checked={isWhole} onChange={() => setWhole(!isWhole)} /> {text.showUnchanged}
      </label>
      {shown.length === 0 ? <p>{text.unchanged}</p> : null}
      {shown.length === 0 ? null : (
        <Scrolling class="step-scroll" label={text.contextTable}>
          <table>
            <thead>
              <tr>
                <th scope="col">{text.member}</th>
                <th scope="col">{text.before}</th>
                <th scope="col">{text.after}</th>
              </tr>
            </thead>
            <tbody>
              {shown.map(({ path, before: was, after: is, isChanged }) => (
                <tr key={path} class={isChanged ? "is-changed" : ""}>
                  <th scope="row">
                    <code>{path}</code>
                  </th>
                  <td>{was ?? "–"}</td>
                  <td>{is ?? "–"}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolling>
      )}
    </Part>
  );
};

type Props = { step: ReplayStep; before: ReplayStep | null; nameOf?: (routeId: string) => string };

export const StepDetail = ({ step, before, nameOf = (routeId) => routeId }: Props): VNode => {
  const { step: text } = words.inspector;
  return (
    <section class="step-detail" aria-label={text.title(step.version)} aria-live="polite">
      <h2>
        {step.version}. {step.event?.type ?? words.inspector.replay.acceptance}
      </h2>
      <p>{step.description}.</p>
      {step.node === undefined ? null : <p class="step-node">{text.writtenBy(step.node)}</p>}
      <p class="step-way">
        {step.from === null ? null : (
          <>
            <code>{step.from}</code> <Arrow />{" "}
          </>
        )}
        <code>{step.to}</code>
      </p>
      {step.fault === null ? null : <p class="step-fault">{text.disagreement(step.fault)}</p>}
      <Ledger transfers={step.transfers} />
      {step.effects.length === 0 ? null : (
        <Part title={text.effects}>
          <ul>
            {step.effects.map((effect) => (
              <li key={effectText(effect)}>{effectText(effect)}</li>
            ))}
          </ul>
        </Part>
      )}
      <Written notes={step.notes} nameOf={nameOf} />
      <Guards considered={step.considered} />
      <Memory before={before?.context ?? null} after={step.context} />
      {step.event === null ? null : (
        <details>
          <summary>{text.storedEvent}</summary>
          <pre>{JSON.stringify(step.event, null, 2)}</pre>
        </details>
      )}
    </section>
  );
};
