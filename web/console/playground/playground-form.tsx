// Form of the playground: models, fields, price, and the button that submits.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Link } from "wouter-preact";
import type { ModelDto } from "../../../src/console/generations-dto.ts";
import { type Fault, me } from "../../components/api.ts";
import { words } from "../../words/console-words.ts";
import { type Draft, valuesFor } from "./draft.ts";
import { FormInput } from "./fields.tsx";
import { type FormField, fieldsOf, inputOf, missingOf, titleOf, type Values } from "./form.ts";
import { GenerateBar } from "./generate-bar.tsx";
import { ModelRows } from "./model-row.tsx";
import { Price, type Priced, totalText, useQuotes } from "./price.tsx";
import { RequestCode } from "./request-code.tsx";
import { randomSeed } from "./seed-input.tsx";
import type { Order } from "./use-runs.ts";
import { FieldChoice, type UsedFile } from "./used-file.tsx";

type Props = {
  models: readonly ModelDto[];
  /** Id of a requested model that is not available; null if there is none. */
  missing: string | null;
  draft: Draft;
  change: (next: Partial<Draft>) => void;
  used: UsedFile | null;
  isTest: boolean;
  /** Opens the chooser for a position. */
  chooseModel: (at: number) => void;
  start: (orders: readonly Order[]) => Promise<Fault | undefined>;
};

/** Fields that few requests need; they are folded. */
const RARE: readonly string[] = ["negative_prompt", "seed", "output_format", "background", "mask_url", "speed", "language"];
const isRare = ({ name, option }: FormField): boolean => RARE.includes(name) && option.required !== true;

const expectedOf = ({ quote }: Priced, { expectedS }: ModelDto): number | null =>
  quote?.refusal === null ? (quote.routes[0]?.expectedS ?? expectedS) : expectedS;

/** The seed of each variant: consecutive ones from a given seed, so that each can be repeated. */
const withSeed = (order: Order, variant: number): Order => {
  const { seed } = order.input;
  return typeof seed !== "number" || variant === 0 ? order : { ...order, input: { ...order.input, seed: seed + variant } };
};

const Faults = ({ fault }: { fault: Refusal | null }): VNode | null =>
  fault === null ? null : (
    <p class="fault" role="alert">
      {fault.message}{" "}
      {fault.code === "insufficient_credits" && <Link href="/console/credits">{words.playground.addCredits}</Link>}
    </p>
  );

const reasonOf = (): string | null => {
  const who = me.value?.signedIn;
  if (who?.role === "viewer") return words.playground.readOnly;
  return who?.accountId === null ? words.playground.noAccount : null;
};

/** Enter in a field never submits, because a submission costs money; Ctrl or ⌘ with Enter does. */
const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLFormElement }): void => {
  if (event.key !== "Enter" || event.isComposing) return;
  const isShortcut = event.ctrlKey || event.metaKey;
  const isButton = event.target instanceof HTMLButtonElement || event.target instanceof HTMLAnchorElement;
  if (isShortcut) event.currentTarget.requestSubmit();
  if (isShortcut || (event.target instanceof HTMLInputElement && !isButton)) event.preventDefault();
};

const Unavailable = ({ missing, chooseModel }: Pick<Props, "missing" | "chooseModel">): VNode => (
  <div class="empty">
    {missing !== null && <p>{words.model.unavailable(missing)}</p>}
    <button type="button" class="button is-main" onClick={() => chooseModel(0)}>
      {words.model.choose}
    </button>
  </div>
);

export const PlaygroundForm = (of: Props): VNode => {
  const [model] = of.models;
  return model === undefined ? <Unavailable {...of} /> : <ModelForm {...of} model={model} />;
};

const useSending = () => {
  // Fields with running uploads: a submission now would lack their files.
  const [sending, setSending] = useState<readonly string[]>([]);
  const onSending = (name: string, isSending: boolean) =>
    setSending((all) => [...all.filter((one) => one !== name), ...(isSending ? [name] : [])]);
  return { isSending: sending.length > 0, onSending };
};

type Request = Pick<Order, "model" | "input"> & { missing: readonly string[] };
type Refusal = Pick<Fault, "code" | "message">;

/** One order for each model and variant. */
const ordersOf = (requests: readonly Request[], priced: readonly Priced[], { models, draft }: Props): Order[] =>
  requests.flatMap(({ model, input }, at) => {
    const expectedS = models[at] ? expectedOf(priced[at] ?? { quote: null, fault: null }, models[at]) : null;
    return Array.from({ length: draft.variants }, (_, variant) => withSeed({ model, input, expectedS }, variant));
  });

/** Submits the requests. The error of a submission is shown until the requests change. */
const useSubmission = (of: Props, requests: readonly Request[], priced: readonly Priced[], done: () => void) => {
  const [fault, setFault] = useState<Refusal | null>(null);
  const [isBusy, setBusy] = useState(false);
  const text = JSON.stringify(requests);
  useEffect(() => setFault(null), [text]);
  const submit = async (): Promise<void> => {
    const [lacking] = requests.filter(({ missing }) => missing.length > 0);
    if (lacking) {
      setFault({ code: "missing", message: words.playground.required(lacking.missing.map(titleOf).join(", ")) });
      document.getElementById(`field-${lacking.missing[0]}`)?.focus();
      return;
    }
    setBusy(true);
    setFault(null);
    const refusal = await of.start(ordersOf(requests, priced, of));
    setBusy(false);
    if (refusal) setFault(refusal);
    else done();
  };
  return { fault, isBusy, submit };
};

type FieldsProps = Pick<Props, "draft" | "change"> & {
  fields: readonly FormField[];
  values: Values;
  refused: { field: string | null; message: string } | null;
  onSending: (name: string, isSending: boolean) => void;
};

const Fields = ({ fields, values, draft, change, refused, onSending }: FieldsProps): VNode => {
  const input = (field: FormField): VNode => (
    <FormInput
      key={field.name}
      field={field}
      value={values[field.name] ?? ""}
      set={(value) => change({ values: { ...draft.values, [field.name]: value } })}
      fault={refused?.field === field.name ? refused.message : null}
      onSending={(isOn) => onSending(field.name, isOn)}
      seedLock={[draft.isSeedLocked, (isSeedLocked) => change({ isSeedLocked })]}
    />
  );
  const rare = fields.filter(isRare);
  return (
    <>
      {fields.filter((field) => !isRare(field)).map(input)}
      {rare.length > 0 && (
        <details class="rare" open={rare.some(({ name }) => refused?.field === name) || undefined}>
          <summary>{words.playground.moreOptions}</summary>
          {rare.map(input)}
        </details>
      )}
    </>
  );
};

const ModelForm = (of: Props & { model: ModelDto }): VNode => {
  const { model, models, draft, change, used } = of;
  const { isSending, onSending } = useSending();
  const values = valuesFor(model, draft.values);
  const fields = fieldsOf(model);
  const requests = models.map((one): Request => {
    const own = valuesFor(one, draft.values);
    return { model: one.id, input: inputOf(one, own), missing: missingOf(one, own) };
  });
  const priced = useQuotes(requests.map(({ missing, ...request }) => (missing.length === 0 ? request : null)));
  const [own = { quote: null, fault: null }] = priced;
  const refused = own.quote?.refusal ?? null;
  const reason = reasonOf();
  const { fault, isBusy, submit } = useSubmission(of, requests, priced, () => {
    const seed = fields.find(({ name }) => name === "seed");
    if (seed && values.seed && !draft.isSeedLocked) change({ values: { ...draft.values, seed: randomSeed(seed) } });
  });
  const state = reason !== null ? "not-allowed" : isBusy ? "busy" : isSending ? "uploading" : "ready";
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (state === "ready") void submit();
      }}
      onKeyDown={onKeyDown}
      noValidate
    >
      <ModelRows
        models={models}
        priced={priced}
        change={of.chooseModel}
        remove={(at) => change({ models: models.filter((_, n) => n !== at).map(({ id }) => id) })}
      />
      {used && (
        <FieldChoice
          model={model}
          used={used}
          values={values}
          set={(next) => change({ values: { ...draft.values, ...next(values) } })}
        />
      )}
      <Fields {...{ fields, values, draft, change, refused, onSending }} />
      <RequestCode request={{ model: model.id, input: requests[0]?.input ?? {} }} />
      <div class="generate">
        {models.length === 1 && <Price {...own} isShownAtField={fields.some(({ name }) => name === refused?.field)} />}
        <Faults fault={fault} />
        {reason !== null && <p class="muted">{reason}</p>}
        <GenerateBar
          variants={draft.variants}
          setVariants={(variants) => change({ variants })}
          price={totalText(priced, draft.variants)}
          state={state}
        />
        <p class="muted">{of.isTest ? words.playground.test : words.playground.live}</p>
      </div>
    </form>
  );
};
