// Dialog for a parked generation: an operator decides its outcome with a reason.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { DecidedView, GenerationDecisionRequest, ServiceView } from "../../../src/console/operator-dto.ts";
import { call } from "../../components/api.ts";
import { usd } from "../../components/format.ts";
import { words } from "../../words/console-words.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { DialogState, TextField } from "./dialog.tsx";
import { API } from "./page.tsx";

export type Parked = ServiceView["parked"][number];
type Decision = GenerationDecisionRequest["decision"];

/** What each decision does, and its consequence for customer and operator. */
const choicesOf = (held: string): readonly (readonly [Decision, { name: string; about: string; consequence: string }])[] => {
  const { parked } = operatorWords;
  return [
    ["retry", { name: parked.retry, about: parked.retryAbout, consequence: parked.retryThen }],
    ["settle", { name: parked.settle, about: parked.settleAbout, consequence: parked.settleThen(held) }],
    ["fail", { name: parked.fail, about: parked.failAbout, consequence: parked.failThen(held) }],
  ];
};

const outcomeText = ({ id, status, state, isTaken, costCredits }: DecidedView): string => {
  const { parked } = operatorWords;
  if (!isTaken && (status === "succeeded" || status === "failed")) return parked.endedBefore(id, words.status[status]);
  if (!isTaken) return parked.storedDecision(id);
  if (status === "failed") return parked.hasFailed(id);
  return costCredits === null ? parked.continues(id, state) : parked.charged(id, usd(costCredits));
};

export const Deciding = ({ of, close, done }: { of: Parked; close: () => void; done: (text: string) => void }): VNode => {
  const [decision, setDecision] = useState<Decision>("retry");
  const [reason, setReason] = useState("");
  const { parked, operator } = operatorWords;
  const choices = choicesOf(usd(of.reservedCredits));
  const chosen = choices.find(([value]) => value === decision)?.[1];
  const run = async () => {
    if (reason.trim() === "") return operator.reasonFault;
    const request: GenerationDecisionRequest = { decision, attempt: null, reason: reason.trim() };
    done(outcomeText(await call<DecidedView>("POST", `${API}/generations/${of.id}/decision`, request)));
    return undefined;
  };
  return (
    <DialogState
      title={parked.title(of.id)}
      does={chosen?.name ?? parked.decide}
      isDanger={decision === "fail"}
      close={close}
      run={run}
    >
      <p>{parked.because(of.reason)}</p>
      <fieldset class="ways">
        <legend>{parked.choose}</legend>
        {choices.map(([value, { name, about }]) => (
          <label key={value} class="way">
            <input type="radio" name="decision" value={value} checked={value === decision} onChange={() => setDecision(value)} />
            <span>
              <strong>{name}</strong>
              <span class="muted">{about}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <p class={`notice ${decision === "fail" ? "is-bad" : ""}`} role="status">
        <strong>{parked.consequence}.</strong> {chosen?.consequence}
      </p>
      <TextField says={operator.reason} isRequired value={reason} set={setReason} maxLength={500} about={parked.reasonAbout} />
    </DialogState>
  );
};
