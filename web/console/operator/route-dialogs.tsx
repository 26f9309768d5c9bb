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
    if (!isOff && reason.trim() === "") return "Enter a reason. It is shown with the route.";
    await call("POST", `${pathOf(of)}/switch`, { reason: isOff ? null : reason.trim() });
    done(`${of.id} is switched ${isOff ? "on" : "off"}.`);
    return undefined;
  };
  if (isOff)
    return (
      <DialogState title={`Switch ${of.id} on?`} does="Switch on" close={close} run={run}>
        <p>The next attempts use the route again. Its circuit breaker is reset.</p>
        {of.reason !== null && <p>Reason for switching it off: {of.reason}</p>}
      </DialogState>
    );
  return (
    <DialogState title={`Switch ${of.id} off?`} does="Switch off" isDanger close={close} run={run}>
      <p>
        No new attempt begins on the route. Generations that wait for it use their next route. Running attempts continue and are
        charged when they deliver. A model whose routes are all off is no longer listed.
      </p>
      <TextField says="Reason" value={reason} set={setReason} maxLength={500} />
    </DialogState>
  );
};

const checkText = (of: RouteLine, { kind, detail }: RouteChecked): string => {
  if (kind === "works") return `${of.provider} accepts the key: ${detail}. Nothing was purchased.`;
  if (kind === "refused") return `${of.provider} rejects the request: ${detail}.`;
  if (kind === "unclear") return `${of.provider} returned an unclear response: ${detail}. Try again.`;
  return `${of.provider} has no free request that checks the key.`;
};

const trialText = ({ status, costCredits, failure, generationId }: TrialView): string => {
  if (status === "succeeded") return `The route delivered ${generationId}. Its price is ${usd(costCredits ?? 0)}.`;
  if (status === "failed") return `The route did not deliver ${generationId}: ${failure}.`;
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
    return checked === null ? `Checking ${of.provider}…` : checkText(of, checked);
  };
  return (
    <DialogState title={`Test ${of.id}`} does={mayBuy ? "Purchase one generation" : null} close={close} run={run}>
      <PageMessage text={text()} />
      {mayBuy && (
        <p>
          A full test purchases one generation on this route only, with the smallest input of {of.model}.{" "}
          <strong>
            {of.provider} charges at least {checked.costs}
          </strong>{" "}
          to your account there. Here, the account “route tests” is charged.
        </p>
      )}
    </DialogState>
  );
};

export const RouteDialog = ({ action, ...props }: Omit<Props, "of"> & { action: RouteAction }): VNode =>
  action.kind === "switch" ? <Switch {...props} of={action.of} /> : <Test {...props} of={action.of} />;
