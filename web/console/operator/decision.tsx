// Dialog for a parked generation: an operator decides its outcome with a reason.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { DecidedView, GenerationDecisionRequest, ServiceView } from "../../../src/console/operator-dto.ts";
import { call } from "../../components/api.ts";
import { usd } from "../../components/format.ts";
import { DialogState, Labelled, TextField } from "./dialog.tsx";
import { API } from "./page.tsx";

export type Parked = ServiceView["parked"][number];
type Decision = GenerationDecisionRequest["decision"];

const CHOICES: Readonly<Record<Decision, { says: string; does: string; about: (held: string) => string }>> = {
  retry: {
    says: "Retry: ask its provider again",
    does: "Retry",
    about: () =>
      "Its provider is asked about the attempt in hand, with the whole time of its route. Nothing is charged before it has delivered.",
  },
  settle: {
    says: "Settle: it has delivered",
    does: "Settle",
    about: (held) =>
      `The files of the newest attempt with a job or a result are fetched, and the customer is charged for it out of the ${held} held.`,
  },
  fail: {
    says: "Fail: end it without a charge",
    does: "Fail",
    about: (held) => `The customer gets the ${held} back. What its provider may still deliver is listed under orphans.`,
  },
};

const outcomeText = ({ id, status, state, isTaken, costCredits }: DecidedView): string => {
  if (!isTaken && (status === "succeeded" || status === "failed")) return `${id} ${status} before it was decided.`;
  if (!isTaken) return `It is noted: the node that owns ${id} acts within a minute.`;
  if (status === "failed") return `${id} has failed; nothing was charged.`;
  return costCredits === null ? `${id} continues: ${state}.` : `${id} is charged ${usd(costCredits)}.`;
};

export const Deciding = ({ of, close, done }: { of: Parked; close: () => void; done: (text: string) => void }): VNode => {
  const [decision, setDecision] = useState<Decision>("retry");
  const [reason, setReason] = useState("");
  const chosen = CHOICES[decision];
  const run = async () => {
    if (reason.trim() === "") return "Say why: it stands in the audit log and in the generation's journal.";
    const wish: GenerationDecisionRequest = { decision, attempt: null, reason: reason.trim() };
    done(outcomeText(await call<DecidedView>("POST", `${API}/generations/${of.id}/decision`, wish)));
    return undefined;
  };
  return (
    <DialogState title={`What becomes of ${of.id}?`} does={chosen.does} isDanger={decision === "fail"} close={close} run={run}>
      <p>It cannot go on by itself: {of.reason}</p>
      <Labelled says="Decision" about={chosen.about(usd(of.reservedCredits))}>
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
      </Labelled>
      <TextField
        says="Reason"
        value={reason}
        set={setReason}
        maxLength={500}
        about="For the audit log and the generation's journal."
      />
    </DialogState>
  );
};
