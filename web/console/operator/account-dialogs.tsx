// Account dialogs for operators: adjust credits, pause, resume and set limits.

import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import type { AccountView, CreditsAdjusted } from "../../../src/console/operator-dto.ts";
import { call } from "../../components/api.ts";
import { usd } from "../../components/format.ts";
import { DialogState, TextField } from "./dialog.tsx";
import { creditsIn, newReference } from "./format.ts";
import { API } from "./page.tsx";

export type AccountAction = "grant" | "take" | "pause" | "limits";
type Props = { of: AccountView; close: () => void; done: (account: AccountView, text: string) => void };

const pathOf = ({ id }: AccountView): string => `${API}/accounts/${id}`;

/** The credits that were transferred. The available balance never becomes negative, and the remainder becomes debt. */
const moved = ({ transferredCredits, newlyOwedCredits, account }: CreditsAdjusted): string => {
  if (transferredCredits === 0 && newlyOwedCredits === 0) return "The adjustment was already applied. Nothing was transferred.";
  if (transferredCredits > 0) return `${usd(transferredCredits)} were granted; ${usd(account.availableCredits)} are available.`;
  const taken = `${usd(-transferredCredits)} were taken back.`;
  return newlyOwedCredits === 0
    ? taken
    : `${taken} ${usd(newlyOwedCredits)} were not available and are now debt, so the account is paused.`;
};

const Credits = ({ of, close, done, isGrant }: Props & { isGrant: boolean }): VNode => {
  const [amount, setAmount] = useState("");
  const [note, setNote] = useState("");
  // One reference per dialog, so that a repeated request is applied once.
  const reference = useRef(newReference());
  const run = async () => {
    const credits = creditsIn(amount);
    if (typeof credits === "string") return credits;
    if (note.trim() === "") return "Enter a note. It is stored in the ledger of the account.";
    const requested = isGrant ? credits : -credits;
    const body = { reference: reference.current, credits: requested, note: note.trim() };
    const answer = await call<CreditsAdjusted>("POST", `${pathOf(of)}/credits`, body);
    done(answer.account, moved(answer));
    return undefined;
  };
  const title = isGrant ? `Grant credits to ${of.name}` : `Take credits back from ${of.name}`;
  return (
    <DialogState title={title} does={isGrant ? "Grant" : "Take back"} isDanger={!isGrant} close={close} run={run}>
      <p>
        {isGrant
          ? `The credits are available immediately. ${usd(of.availableCredits)} are available now.`
          : `At most the available ${usd(of.availableCredits)} are taken back. Held credits are not affected. If the available credits are too few, the rest becomes debt and the account is paused.`}
      </p>
      <TextField says="Amount in USD" value={amount} set={setAmount} inputMode="decimal" />
      <TextField
        says="Note"
        value={note}
        set={setNote}
        maxLength={500}
        about="The users of the account can read it in their ledger."
      />
    </DialogState>
  );
};

const Pause = ({ of, close, done }: Props): VNode => {
  const run = async () => {
    const account = await call<AccountView>("PATCH", pathOf(of), { paused: !of.paused });
    done(account, account.paused ? "The account is paused." : "The account is active again.");
    return undefined;
  };
  if (of.paused)
    return (
      <DialogState title={`Resume ${of.name}?`} does="Resume" close={close} run={run}>
        <p>Its keys are accepted again immediately. {of.owedCredits > 0 && `The debt of ${usd(of.owedCredits)} remains.`}</p>
      </DialogState>
    );
  return (
    <DialogState title={`Pause ${of.name}?`} does="Pause" isDanger close={close} run={run}>
      <p>Every request with its keys gets status 403 from now on, for submissions, reads and downloads.</p>
      <p>
        Accepted generations continue and are charged when they deliver: {of.inProgress} in progress. No credits are transferred,
        and the keys are not deleted.
      </p>
    </DialogState>
  );
};

const limitText = (own: number | null): string => (own === null ? "" : String(own));

/** Undefined if invalid; null selects the limit of the service. */
const limitIn = (text: string): number | null | undefined => {
  if (text.trim() === "") return null;
  const n = Number(text);
  return Number.isInteger(n) && n >= 1 && n <= 1_000_000 ? n : undefined;
};

/** A hundred years. */
const MAX_RETENTION_S = 3_153_600_000;
/** Undefined if invalid; null selects the retention of the service. */
const retentionIn = (text: string): AccountView["promptRetention"]["own"] | undefined => {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  if (trimmed === "forever") return trimmed;
  const n = Number(trimmed);
  return Number.isInteger(n) && n >= 0 && n <= MAX_RETENTION_S ? n : undefined;
};

const Limits = ({ of, close, done }: Props): VNode => {
  const { burstPerS, inProgress } = of.limits;
  const { own, service } = of.promptRetention;
  const [kept, setKept] = useState(own === null ? "" : String(own));
  const [burst, setBurst] = useState(limitText(burstPerS.own));
  const [most, setMost] = useState(limitText(inProgress.own));
  const run = async () => {
    const [burstPerS, inProgressLimit] = [limitIn(burst), limitIn(most)];
    if (burstPerS === undefined || inProgressLimit === undefined)
      return "A limit must be a whole number from 1 to 1,000,000, or empty for the limit of the service.";
    const promptRetentionS = retentionIn(kept);
    if (promptRetentionS === undefined)
      return "The retention must be whole seconds from 0 to 3,153,600,000, forever, or empty for that of the service.";
    const limits = { burstPerS, inProgressLimit, promptRetentionS };
    done(await call<AccountView>("PATCH", pathOf(of), limits), "The limits apply from now on.");
    return undefined;
  };
  return (
    <DialogState title={`Limits of ${of.name}`} does="Save" close={close} run={run}>
      <TextField
        says="Requests per second"
        value={burst}
        set={setBurst}
        inputMode="numeric"
        about={`Empty: the limit of the service, ${burstPerS.service}.`}
      />
      <TextField
        says="Generations in progress"
        value={most}
        set={setMost}
        inputMode="numeric"
        about={`Empty: the limit of the service, ${inProgress.service}. Generations in progress continue above the limit.`}
      />
      <TextField
        says="Seconds until prompts are erased"
        value={kept}
        set={setKept}
        about={`After the end of a generation; or forever. Empty: the retention of the service, ${service}.`}
      />
    </DialogState>
  );
};

export const AccountDialog = ({ action, ...props }: Props & { action: AccountAction }): VNode => {
  if (action === "pause") return <Pause {...props} />;
  if (action === "limits") return <Limits {...props} />;
  return <Credits {...props} isGrant={action === "grant"} />;
};
