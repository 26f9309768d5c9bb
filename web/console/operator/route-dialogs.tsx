// Route dialogs for operators: enable, disable, check the provider, run a paid trial.

import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RouteChecked, RouteLine, TrialView } from "../../../src/console/operator-dto.ts";
import { call, errorText } from "../../components/api.ts";
import { usd } from "../../components/format.ts";
import { words } from "../../words/console-words.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { DialogState, TextField } from "./dialog.tsx";
import { newReference } from "./format.ts";
import { checkText } from "./key-check-text.ts";
import { API, PageMessage } from "./page.tsx";

export type RouteAction = { kind: "switch" | "test"; of: RouteLine };
type Props = { of: RouteLine; close: () => void; done: (text: string) => void };

/** Interval at which a trial is polled. */
const POLL_MS = 1_000;

const pathOf = ({ id }: RouteLine): string => `${API}/routes/${encodeURIComponent(id)}`;

const Switch = ({ of, close, done }: Props): VNode => {
  const [reason, setReason] = useState("");
  const isOff = of.state === "off";
  const { routes, operator } = operatorWords;
  const run = async () => {
    if (!isOff && reason.trim() === "") return routes.reasonFault;
    await call("POST", `${pathOf(of)}/switch`, { reason: isOff ? null : reason.trim() });
    done(isOff ? routes.enabled(of.id) : routes.disabled(of.id));
    return undefined;
  };
  if (isOff)
    return (
      <DialogState title={routes.enableTitle(of.id)} does={routes.enable} close={close} run={run}>
        <p>{routes.enableAbout}</p>
        {of.reason !== null && <p>{routes.disabledBecause(of.reason)}</p>}
      </DialogState>
    );
  return (
    <DialogState title={routes.disableTitle(of.id)} does={routes.disable} isDanger close={close} run={run}>
      <p>{routes.disableAbout}</p>
      <TextField says={operator.reason} isRequired value={reason} set={setReason} maxLength={500} about={routes.reasonAbout} />
    </DialogState>
  );
};

const trialText = ({ status, costCredits, failure, generationId }: TrialView): string => {
  const { routes } = operatorWords;
  if (status === "succeeded") return routes.worked(generationId, usd(costCredits ?? 0));
  if (status === "failed") return routes.failed(generationId, failure ?? "");
  return routes.underWay(generationId, words.status[status]);
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
  const { routes } = operatorWords;
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
    return checked === null ? routes.checking(of.provider) : checkText({ name: of.provider, ...checked });
  };
  return (
    <DialogState title={routes.testTitle(of.id)} does={mayBuy ? routes.buy : null} close={close} run={run}>
      <PageMessage text={text()} />
      {mayBuy && (
        <p>
          {routes.buyAbout(of.model)} <strong>{routes.buyCosts(of.provider, checked.costs)}</strong> {routes.buyAccount}
        </p>
      )}
    </DialogState>
  );
};

export const RouteDialog = ({ action, ...props }: Omit<Props, "of"> & { action: RouteAction }): VNode =>
  action.kind === "switch" ? <Switch {...props} of={action.of} /> : <Test {...props} of={action.of} />;
