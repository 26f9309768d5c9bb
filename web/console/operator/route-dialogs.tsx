// Route dialogs for operators: enable, disable, check the provider, run a paid trial.

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RouteChecked, RouteLine, TrialView } from "../../../src/console/operator-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { usd } from "../../components/format.ts";
import { DialogState, TextField } from "./dialog.tsx";
import { newReference } from "./format.ts";
import { API, PageMessage } from "./page.tsx";

export type RouteAction = { kind: "switch" | "test"; of: RouteLine };
type Props = { of: RouteLine; close: () => void; done: (text: string) => void };

/** Interval at which a trial is polled. */
const POLL_MS = 1_000;

const pathOf = ({ id }: RouteLine): string => `${API}/routes/${encodeURIComponent(id)}`;

const Switch = ({ of, close, done }: Props): VNode => {
  const [reason, setReason] = useState("");
  const isOff = of.state === "off";
  const run = async () => {
    if (!isOff && reason.trim() === "") return "Give a reason; it is shown with the route.";
    await call("POST", `${pathOf(of)}/switch`, { reason: isOff ? null : reason.trim() });
    done(`${of.id} is switched ${isOff ? "on" : "off"}.`);
    return undefined;
  };
  if (isOff)
    return (
      <DialogState title={`Switch ${of.id} on?`} does="Switch on" close={close} run={run}>
        <p>It is used again from the next attempt on, and what is known of its being down is forgotten.</p>
        {of.reason !== null && <p>It was switched off because: {of.reason}</p>}
      </DialogState>
    );
  return (
    <DialogState title={`Switch ${of.id} off?`} does="Switch off" isDanger close={close} run={run}>
      <p>
        No new attempt begins on it: generations that wait for it go to their next route. Attempts under way go on and are charged
        when they deliver. A model whose routes are all off is not listed any more.
      </p>
      <TextField says="Reason" value={reason} set={setReason} maxLength={500} />
    </DialogState>
  );
};

const checkText = (of: RouteLine, { kind, detail }: RouteChecked): string => {
  if (kind === "works") return `${of.provider} takes the key: ${detail}. Nothing was bought.`;
  if (kind === "refused") return `${of.provider} refuses: ${detail}.`;
  if (kind === "unclear") return `${of.provider} did not say: ${detail}. Try again.`;
  return `${of.provider} has nothing that can be asked for nothing.`;
};

const trialText = ({ status, costCredits, failure, generationId }: TrialView): string => {
  if (status === "succeeded") return `It delivered ${generationId}, which is sold for ${usd(costCredits ?? 0)}.`;
  if (status === "failed") return `It did not deliver ${generationId}: ${failure}.`;
  return `${generationId} is ${status}…`;
};

/** Polls a trial until it has ended or the dialog is closed; the trial continues in either case. */
const useTrial = () => {
  const [trial, setTrial] = useState<TrialView | null>(null);
  const [fault, setFault] = useState("");
  useEffect(() => {
    if (trial === null || trial.status === "succeeded" || trial.status === "failed") return;
    const timer = setTimeout(
      () =>
        void call<TrialView>("GET", `${API}/trials/${trial.generationId}`).then(setTrial, (thrown: unknown) => {
          setFault(errorText(thrown));
          setTrial({ ...trial });
        }),
      POLL_MS,
    );
    return () => clearTimeout(timer);
  }, [trial]);
  return { trial, setTrial, fault };
};

const Test = ({ of, close }: Props): VNode => {
  const [checked, setChecked] = useState<RouteChecked | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const { trial, setTrial, fault: looking } = useTrial();
  const reference = useRef(newReference());
  const path = pathOf(of);
  useEffect(() => {
    call<RouteChecked>("POST", `${path}/check`).then(setChecked, (thrown: unknown) => setFault(errorText(thrown)));
  }, [path]);
  const run = async () => {
    setTrial(await call<TrialView>("POST", `${path}/try`, { reference: reference.current }));
    return undefined;
  };
  const mayBuy = checked !== null && checked.kind !== "refused" && trial === null;
  const text = () => {
    if (fault !== null) return fault;
    if (trial !== null) return `${trialText(trial)} ${looking}`;
    return checked === null ? `Asking ${of.provider}…` : checkText(of, checked);
  };
  return (
    <DialogState title={`Test ${of.id}`} does={mayBuy ? "Buy one generation" : null} close={close} run={run}>
      <PageMessage text={text()} />
      {mayBuy && (
        <p>
          To try all of it, one generation can be bought on this route alone, the least that {of.model} can be asked for:{" "}
          <strong>
            {of.provider} takes at least {checked.costs} for it
          </strong>
          , from your account there. It stands on the account “route tests” here.
        </p>
      )}
    </DialogState>
  );
};

export const RouteDialog = ({ action, ...props }: Omit<Props, "of"> & { action: RouteAction }): VNode =>
  action.kind === "switch" ? <Switch {...props} of={action.of} /> : <Test {...props} of={action.of} />;
