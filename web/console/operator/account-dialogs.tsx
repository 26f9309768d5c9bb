// Account dialogs for operators: adjust credits, pause, resume and set limits.

import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import type { AccountView, CreditsAdjusted } from "../../../src/console/operator-dto.ts";
import { call } from "../../components/api.ts";
import { usd } from "../../components/format.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { DialogState, TextField } from "./dialog.tsx";
import { creditsIn, newReference, number } from "./format.ts";
import { API } from "./page.tsx";

export type AccountAction = "grant" | "take" | "pause" | "limits";
type Props = { of: AccountView; close: () => void; done: (account: AccountView, text: string) => void };

const pathOf = ({ id }: AccountView): string => `${API}/accounts/${id}`;

/** The credits that were transferred. The available balance never becomes negative, and the remainder becomes debt. */
const moved = ({ transferredCredits, newlyOwedCredits, account }: CreditsAdjusted): string => {
  const { already, granted, taken, takenWithDebt } = operatorWords.account;
  if (transferredCredits === 0 && newlyOwedCredits === 0) return already;
  if (transferredCredits > 0) return granted(usd(transferredCredits), usd(account.availableCredits));
  const back = usd(-transferredCredits);
  return newlyOwedCredits === 0 ? taken(back) : takenWithDebt(back, usd(newlyOwedCredits));
};

const Credits = ({ of, close, done, isGrant }: Props & { isGrant: boolean }): VNode => {
  const [amount, setAmount] = useState("");
  const [note, setNote] = useState("");
  // One reference per dialog, so that a repeated request is applied once.
  const reference = useRef(newReference());
  const says = operatorWords.account;
  const run = async () => {
    const credits = creditsIn(amount);
    if (typeof credits === "string") return credits;
    if (note.trim() === "") return says.noteFault;
    const requested = isGrant ? credits : -credits;
    const body = { reference: reference.current, credits: requested, note: note.trim() };
    const answer = await call<CreditsAdjusted>("POST", `${pathOf(of)}/credits`, body);
    done(answer.account, moved(answer));
    return undefined;
  };
  const available = usd(of.availableCredits);
  return (
    <DialogState
      title={isGrant ? says.grantTitle(of.name) : says.takeTitle(of.name)}
      does={isGrant ? says.grantSubmit : says.take}
      isDanger={!isGrant}
      close={close}
      run={run}
    >
      <p>{isGrant ? says.grantAbout(available) : says.takeAbout(available)}</p>
      <TextField says={says.amount} isRequired value={amount} set={setAmount} inputMode="decimal" />
      <TextField says={says.note} isRequired value={note} set={setNote} maxLength={500} about={says.noteAbout} />
    </DialogState>
  );
};

const Pause = ({ of, close, done }: Props): VNode => {
  const says = operatorWords.account;
  const run = async () => {
    const account = await call<AccountView>("PATCH", pathOf(of), { paused: !of.paused });
    done(account, account.paused ? says.isPaused : says.isActive);
    return undefined;
  };
  if (of.paused)
    return (
      <DialogState title={says.resumeTitle(of.name)} does={says.resume} close={close} run={run}>
        <p>
          {says.resumeAbout} {of.owedCredits > 0 && says.resumeDebt(usd(of.owedCredits))}
        </p>
      </DialogState>
    );
  return (
    <DialogState title={says.pauseTitle(of.name)} does={says.pause} isDanger close={close} run={run}>
      <p>{says.pauseAbout}</p>
      <p>{says.pauseRunning(of.inProgress)}</p>
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
  const says = operatorWords.account;
  const run = async () => {
    const [burstPerS, inProgressLimit] = [limitIn(burst), limitIn(most)];
    if (burstPerS === undefined) return says.limitFault(says.perSecond);
    if (inProgressLimit === undefined) return says.limitFault(says.atOnce);
    const promptRetentionS = retentionIn(kept);
    if (promptRetentionS === undefined) return says.retentionFault;
    const limits = { burstPerS, inProgressLimit, promptRetentionS };
    done(await call<AccountView>("PATCH", pathOf(of), limits), says.limitsSaved);
    return undefined;
  };
  return (
    <DialogState title={says.limitsTitle(of.name)} does={says.save} close={close} run={run}>
      <TextField
        says={says.perSecond}
        value={burst}
        set={setBurst}
        inputMode="numeric"
        about={says.emptyDefault(number(burstPerS.service))}
      />
      <TextField
        says={says.atOnce}
        value={most}
        set={setMost}
        inputMode="numeric"
        about={says.atOnceAbout(number(inProgress.service))}
      />
      <TextField
        says={says.erase}
        value={kept}
        set={setKept}
        about={says.eraseAbout(service === "forever" ? says.forever : says.keptSeconds(number(service)))}
      />
    </DialogState>
  );
};

export const AccountDialog = ({ action, ...props }: Props & { action: AccountAction }): VNode => {
  if (action === "pause") return <Pause {...props} />;
  if (action === "limits") return <Limits {...props} />;
  return <Credits {...props} isGrant={action === "grant"} />;
};
