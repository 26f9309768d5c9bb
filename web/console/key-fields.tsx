// Form fields of a key: name, permissions, expiry, limits and models.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { KeysPage } from "../../src/console/keys-dto.ts";
import { KEY_WINDOWS } from "../../src/domain/types.ts";
import { LabelledField } from "../components/field.tsx";
import { words } from "../words/console-words.ts";
import type { Expiry, FormFaults, KeyForm } from "./key-form.ts";

type Parts = { form: KeyForm; set: (change: Partial<KeyForm>) => void; faults: FormFaults };

/** With more models, the list has a search field. */
const FEW = 12;

const ModelList = ({ form, set, models }: Omit<Parts, "faults"> & Pick<KeysPage, "models">): VNode => {
  const [sought, seek] = useState("");
  const chosen = form.models ?? [];
  const fits = models.filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(sought.toLowerCase()));
  const toggle = (id: string, is: boolean) => set({ models: is ? [...chosen, id] : chosen.filter((one) => one !== id) });
  return (
    <>
      {models.length > FEW && (
        <input
          type="search"
          aria-label={words.keys.modelsSearch}
          placeholder={words.keys.modelsSearch}
          value={sought}
          onInput={(event) => seek(event.currentTarget.value)}
        />
      )}
      <p role="status">{words.keys.modelsChosen(chosen.length)}</p>
      <div class="key-model-list">
        {fits.map(({ id, name }) => (
          <label class="choice" key={id}>
            <input type="checkbox" checked={chosen.includes(id)} onChange={(event) => toggle(id, event.currentTarget.checked)} />
            <span>
              {name} <code>{id}</code>
            </span>
          </label>
        ))}
      </div>
    </>
  );
};

const ModelChoice = ({ faults, ...parts }: Parts & Pick<KeysPage, "models">): VNode => (
  <fieldset class="key-models">
    <legend>{words.keys.modelsLegend}</legend>
    <label class="choice">
      <input
        type="checkbox"
        checked={parts.form.models === null}
        aria-invalid={faults.models !== undefined}
        onChange={(event) => parts.set({ models: event.currentTarget.checked ? null : [] })}
      />
      {words.keys.modelsAll}
    </label>
    {parts.form.models !== null && <ModelList {...parts} />}
    {faults.models && (
      <span class="field-fault" role="alert">
        {faults.models}
      </span>
    )}
  </fieldset>
);

const ExpiryFields = ({ form, set, faults }: Parts): VNode => (
  <>
    <LabelledField label={words.keys.expiry}>
      {(aria) => (
        <select {...aria} value={form.expiry} onChange={(event) => set({ expiry: event.currentTarget.value as Expiry })}>
          {Object.entries(words.keys.expiries).map(([value, says]) => (
            <option key={value} value={value}>
              {says}
            </option>
          ))}
        </select>
      )}
    </LabelledField>
    {form.expiry === "date" && (
      <LabelledField label={words.keys.date} isRequired fault={faults.date} hint={words.keys.dateHint}>
        {(aria) => (
          <input {...aria} type="date" value={form.date} onInput={(event) => set({ date: event.currentTarget.value })} />
        )}
      </LabelledField>
    )}
  </>
);

const LimitFields = ({ form, set, faults }: Parts): VNode => (
  <fieldset class="key-amounts">
    <legend>{words.keys.limits}</legend>
    {KEY_WINDOWS.map((window) => (
      <LabelledField key={window} label={words.keys.windows[window]} fault={faults[window]}>
        {(aria) => (
          <input
            {...aria}
            inputMode="decimal"
            placeholder={words.keys.limitEmpty}
            value={form.limits[window]}
            onInput={(event) => set({ limits: { ...form.limits, [window]: event.currentTarget.value } })}
          />
        )}
      </LabelledField>
    ))}
  </fieldset>
);

/** `isNew`: the permissions are chosen at creation and cannot be changed. */
export const KeyFields = ({ models, isNew, ...parts }: Parts & Pick<KeysPage, "models"> & { isNew: boolean }): VNode => {
  const { form, set, faults } = parts;
  return (
    <>
      <LabelledField label={words.keys.name} fault={faults.name} hint={words.keys.nameHint}>
        {(aria) => (
          <input {...aria} value={form.name} maxLength={200} onInput={(event) => set({ name: event.currentTarget.value })} />
        )}
      </LabelledField>
      {isNew && (
        <fieldset>
          <legend>{words.keys.permissions}</legend>
          {(["generate", "read"] as const).map((scope) => (
            <label class="choice" key={scope}>
              <input type="radio" name="scope" checked={form.scope === scope} onChange={() => set({ scope })} />
              <span>
                {words.keys.scopes[scope]} <span class="muted">{words.keys.scopesAbout[scope]}</span>
              </span>
            </label>
          ))}
        </fieldset>
      )}
      <ExpiryFields {...parts} />
      <LimitFields {...parts} />
      <ModelChoice {...parts} models={models} />
    </>
  );
};
