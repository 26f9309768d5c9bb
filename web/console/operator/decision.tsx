// Dialog for a parked generation: an operator decides its outcome with a reason.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { DecidedView, GenerationDecisionRequest, ServiceView } from "../../../src/console/operator-dto.ts";
import { call } from "../../components/api.ts";
import { usd } from "../../components/format.ts";
import { DialogState, LabelledField, TextField } from "./dialog.tsx";
import { API } from "./page.tsx";

export type Parked = ServiceView["parked"][number];
type Decision = GenerationDecisionRequest["decision"];

const CHOICES: Readonly<Record<Decision, { says: string; does: string; about: (held: string) => string }>> = {
  retry: {
    says: "Retry: query the provider again",
    does: "Retry",
    about: () =>
      "The provider is queried about the current attempt for the full route timeout. Nothing is charged before a delivery.",
  },
  settle: {
    says: "Settle: the attempt has delivered",
    does: "Settle",
    about: (held) =>
      `The files of the newest attempt with a job or a result are downloaded. The customer is charged its price from the ${held} held.`,
  },
  fail: {
    says: "Fail: end the generation without a charge",
    does: "Fail",
    about: (held) => `The ${held} held are released to the customer. A later result is listed under orphans.`,
  },
};

const outcomeText = ({ id, status, state, isTaken, costCredits }: DecidedView): string => {
  if (!isTaken && (status === "succeeded" || status === "failed")) return `${id} ${status} before the decision was applied.`;
  if (!isTaken) return `The decision is stored. The node that owns ${id} applies it within 60 s.`;
  if (status === "failed") return `${id} has failed; nothing was charged.`;
  return costCredits === null ? `${id} continues: ${state}.` : `${id} is charged ${usd(costCredits)}.`;
};

export const Deciding = ({ of, close, done }: { of: Parked; close: () => void; done: (text: string) => void }): VNode => {
  const [decision, setDecision] = useState<Decision>("retry");
  const [reason, setReason] = useState("");
  const chosen = CHOICES[decision];
  const run = async () => {
    if (reason.trim() === "") return "Enter a reason. It is stored in the audit log and in the events of the generation.";
    const request: GenerationDecisionRequest = { decision, attempt: null, reason: reason.trim() };
    done(outcomeText(await call<DecidedView>("POST", `${API}/generations/${of.id}/decision`, request)));
    return undefined;
  };
  return (
    <DialogState title={`Decide on ${of.id}`} does={chosen.does} isDanger={decision === "fail"} close={close} run={run}>
      <p>The generation is parked: {of.reason}</p>
      <LabelledField says="Decision" about={chosen.about(usd(of.reservedCredits))}>
        {(id, about) => (
          <select
            id={id}
            aria-describedby={about}
            value={decision}
            onChange={({ currentTarget }) => setDecision(currentTarget.value as Decision)}
          >
            {Object.entries(CHOICES).map(([value, { says }]) => (
              <option key={value} value={value}>
                {says}
              </option>
            ))}
          </select>
        )}
      </LabelledField>
      <TextField
        says="Reason"
        value={reason}
        set={setReason}
        maxLength={500}
        about="Stored in the audit log and in the events of the generation."
      />
    </DialogState>
  );
};
