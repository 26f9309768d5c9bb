// Playground page: model, form, price, results, and the request as code.
import type { VNode } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { Link, useLocation, useSearch } from "wouter-preact";
import type { ModelEntry } from "../../../catalogue/public-model.ts";
import type { GenerationDetail, GenerationDto, ModelsDto } from "../../../src/console/generations-dto.ts";
import { call, errorText, me } from "../../components/api.ts";
import { useQuery } from "../../components/use-query.ts";
import { queryOf } from "../credits/amounts.ts";
import { Copy } from "./copy.tsx";
import { useEvents } from "./event-stream.ts";
import { FormInput } from "./fields.tsx";
import { fieldsOf, inputOf, missingOf, startValues, titleOf, type Values, valuesFrom } from "./form.ts";
import { GenerationProgress } from "./generation-progress.tsx";
import { isUnfinished, withUpdate } from "./live-rows.ts";
import { ModelPicker } from "./model-picker.tsx";
import { Price, useQuote } from "./price.tsx";
import { SNIPPETS, type SnippetRequest } from "./snippets.ts";
import { FieldChoice, modelsFor, startWith, type UsedFile, UsedFileNotice, usedFileOf } from "./used-file.tsx";

const Code = ({ request }: { request: SnippetRequest }): VNode => {
  const [shown, show] = useState<(typeof SNIPPETS)[number]["id"]>("curl");
  const snippet = SNIPPETS.find(({ id }) => id === shown) ?? SNIPPETS[0];
  const text = snippet.of(location.origin, request);
  return (
    <section class="card code" aria-labelledby="as-code">
      <h2 id="as-code">Request as code</h2>
      <fieldset>
        <legend class="unseen">Language</legend>
        <div class="segments">
          {SNIPPETS.map(({ id, says }) => (
            <label key={id} class="segment">
              <input type="radio" name="language" checked={shown === id} onChange={() => show(id)} />
              <span>{says}</span>
            </label>
          ))}
        </div>
      </fieldset>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard. */}
      <section class="snippet" tabIndex={0} aria-label={`The request in ${snippet.says}`}>
        <pre>{text}</pre>
      </section>
      <Copy text={text} says="Copy" of={snippet.says} />
      <p class="muted">It reads the API key from the environment variable GENROUTER_API_KEY.</p>
    </section>
  );
};

/** Generations of this page, newest first, updated by events. */
const useMade = () => {
  const [made, setMade] = useState<GenerationDto[]>([]);
  const put = useCallback((one: GenerationDto) => {
    setMade((all) => (all.some(({ id }) => id === one.id) ? all.map((each) => withUpdate(each, one)) : [one, ...all]));
  }, []);
  const read = (id: string) => call<GenerationDetail>("GET", `/console/api/generations/${id}`).then(put, () => undefined);
  useEvents(null, {
    generation: (news) => {
      setMade((all) => all.map((each) => withUpdate(each, news)));
      if (made.some(({ id }) => id === news.id)) void read(news.id);
    },
    again: () => {
      for (const one of made) if (isUnfinished(one)) void read(one.id);
    },
  });
  return {
    made,
    read: (id: string) => void read(id),
    add: (one: GenerationDto) => {
      put(one);
      // Read once, because events may have been sent before this page subscribed.
      void read(one.id);
    },
  };
};

type FormProps = { model: ModelEntry; start: Values; used: UsedFile | null; isTest: boolean };

const Form = ({ model, start, used, isTest }: FormProps): VNode => {
  const [values, setValues] = useState(start);
  // Fields with running uploads: a submission now would lack their files.
  const [sending, setSending] = useState<readonly string[]>([]);
  const [fault, setFault] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  // The idempotency key is kept until a response arrives, so that a submission with a lost response is not repeated.
  const key = useRef<{ text: string; key: string } | null>(null);
  const { made, add, read } = useMade();
  const input = inputOf(model, values);
  const missing = missingOf(model, values);
  const request = { model: model.id, input };
  const priced = useQuote(missing.length === 0 ? request : null);
  const refused = priced.quote?.refusal ?? null;
  const mayGenerate = me.value?.signedIn?.accountId !== null;

  const submit = async (event: Event) => {
    event.preventDefault();
    if (missing.length > 0) {
      setFault(`${missing.map(titleOf).join(", ")}: is required.`);
      document.getElementById(`field-${missing[0]}`)?.focus();
      return;
    }
    const text = JSON.stringify(request);
    if (key.current?.text !== text) key.current = { text, key: crypto.randomUUID() };
    setBusy(true);
    setFault(null);
    try {
      add(
        await call<GenerationDto>("POST", "/console/api/generations", request, {
          headers: { "idempotency-key": key.current.key },
        }),
      );
      key.current = null;
    } catch (thrown) {
      setFault(errorText(thrown));
    }
    setBusy(false);
  };
  return (
    <>
      <form class="playground-form" onSubmit={(event) => void submit(event)} noValidate>
        <h2>{model.name}</h2>
        {used && <FieldChoice model={model} used={used} values={values} set={setValues} />}
        {fieldsOf(model).map((field) => (
          <FormInput
            key={field.name}
            field={field}
            value={values[field.name] ?? ""}
            set={(value) => setValues((all) => ({ ...all, [field.name]: value }))}
            fault={refused?.field === field.name ? refused.message : null}
            onSending={(isSending) =>
              setSending((all) => [...all.filter((name) => name !== field.name), ...(isSending ? [field.name] : [])])
            }
          />
        ))}
        <Price {...priced} />
        {fault !== null && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
        <p>
          <button type="submit" class="primary" disabled={isBusy || !mayGenerate || sending.length > 0}>
            {isBusy ? "Submitting…" : sending.length > 0 ? "Uploading…" : "Generate"}
          </button>
        </p>
        <p class="muted">
          {isTest ? (
            <>
              <span class="badge">Simulator</span> No request is sent to a provider. The credits of this service are spent
              nevertheless.
            </>
          ) : (
            "This spends real credits."
          )}
          {!mayGenerate && " You have no account, so you cannot generate."}
        </p>
      </form>
      <div class="playground-side">
        <section aria-label="Results">
          {made.length === 0 ? (
            <p class="empty">Results appear here.</p>
          ) : (
            made.map((one) => <GenerationProgress key={one.id} of={one} onCancelled={read} />)
          )}
        </section>
        <Code request={request} />
      </div>
    </>
  );
};

/** Shown before the first provider key is set, and while every route is disabled or unavailable. */
const NoModel = (): VNode => (
  <p class="empty">
    No model is available at the moment.
    {me.value?.signedIn?.role !== "member" && (
      <>
        {" "}
        No route has a provider key, or all routes are off or down. Set keys under{" "}
        <Link href="/console/operator/providers">Providers</Link>. <Link href="/console/operator/routes">Routes</Link> lists the
        reasons.
      </>
    )}
  </p>
);

/** `?model=` preselects a model; `?from=` fills the form with the input of a generation; `?use=` puts a stored file into it. */
export const PlaygroundPage = (): VNode => {
  const query = new URLSearchParams(useSearch());
  const [, go] = useLocation();
  const from = query.get("from");
  const usedFile = usedFileOf(query);
  const { value: known, fault } = useQuery<ModelsDto>("/console/api/models");
  const used = useQuery<GenerationDetail>(from === null ? null : `/console/api/generations/${encodeURIComponent(from)}`);
  const [chosen, choose] = useState<string | null>(query.get("model"));
  useEffect(() => {
    if (used.value) choose(used.value.model);
  }, [used.value]);
  if (fault !== null || used.fault !== null)
    return (
      <p class="fault" role="alert">
        {fault ?? used.fault}
      </p>
    );
  if (!known || (from !== null && !used.value)) return <p aria-busy="true">Loading the models…</p>;
  if (known.models.length === 0) return <NoModel />;
  const models = modelsFor(known.models, usedFile);
  const model = models.find(({ id }) => id === chosen);
  const startOf = (of: ModelEntry): Values => {
    if (usedFile) return startWith(of, usedFile);
    return used.value?.model === of.id ? valuesFrom(of, used.value.input) : startValues(of);
  };
  return (
    <div class="playground">
      {usedFile && <UsedFileNotice of={usedFile} isTaken={models.length > 0} />}
      <ModelPicker
        models={models}
        chosen={chosen}
        choose={(id) => {
          choose(id);
          go(`/console/playground${queryOf({ model: id, use: usedFile?.value ?? null, kind: usedFile?.kind ?? null })}`, {
            replace: true,
          });
        }}
      />
      {model ? (
        <Form
          key={`${model.id} ${from ?? ""} ${usedFile?.value ?? ""}`}
          model={model}
          start={startOf(model)}
          used={usedFile}
          isTest={known.mode === "test"}
        />
      ) : (
        <p class="empty">
          {chosen === null || usedFile
            ? "Choose a model."
            : `The model ${chosen} is not available at the moment. Choose another model.`}
        </p>
      )}
    </div>
  );
};
