// Form fields of a key: name, scope, expiry, limits and models.
import type { ComponentChildren, VNode } from "preact";
import { useId, useState } from "preact/hooks";
import type { KeysPage } from "../../src/console/keys-dto.ts";
import { KEY_WINDOWS } from "../../src/domain/types.ts";
import { type Expiry, type FormFaults, type KeyForm, WINDOW_NAMES } from "./key-form.ts";

type Parts = { form: KeyForm; set: (change: Partial<KeyForm>) => void; faults: FormFaults };

const EXPIRIES: Record<Expiry, string> = {
  never: "Never",
  "30": "In 30 days",
  "90": "In 90 days",
  "365": "In 1 year",
  date: "On a date…",
};
/** With more models, the list has a search field. */
const FEW = 12;

const LabelledField = (of: {
  label: string;
  fault?: string | undefined;
  hint?: string;
  children: (aria: { id: string; "aria-invalid": boolean; "aria-describedby": string }) => ComponentChildren;
}): VNode => {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{of.label}</label>
      {of.children({ id, "aria-invalid": of.fault !== undefined, "aria-describedby": `${id}-says` })}
      <small id={`${id}-says`} class={of.fault ? "field-fault" : "field-hint"}>
        {of.fault ?? of.hint ?? ""}
      </small>
    </div>
  );
};

const ModelChoice = ({ form, set, faults, models }: Parts & Pick<KeysPage, "models">): VNode => {
  const [sought, seek] = useState("");
  const chosen = form.models;
  const fits = models.filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(sought.toLowerCase()));
  const toggle = (id: string, is: boolean) =>
    set({ models: is ? [...(chosen ?? []), id] : (chosen ?? []).filter((one) => one !== id) });
  return (
    <fieldset class="key-models">
      <legend>Models</legend>
      <label class="choice">
        <input
          type="checkbox"
          checked={chosen === null}
          onChange={(event) => set({ models: event.currentTarget.checked ? null : [] })}
        />
        All models, including future models
      </label>
      {chosen !== null && (
        <>
          {models.length > FEW && (
            <input
              type="search"
              aria-label="Search models"
              placeholder="Search models"
              value={sought}
              onInput={(event) => seek(event.currentTarget.value)}
            />
          )}
          <p role="status">{chosen.length} chosen</p>
          <div class="key-model-list">
            {fits.map(({ id, name }) => (
              <label class="choice" key={id}>
                <input
                  type="checkbox"
                  checked={chosen.includes(id)}
                  onChange={(event) => toggle(id, event.currentTarget.checked)}
                />
                <span>
                  {name} <code>{id}</code>
                </span>
              </label>
            ))}
          </div>
        </>
      )}
      {faults.models && (
        <small class="field-fault" role="alert">
          {faults.models}
        </small>
      )}
    </fieldset>
  );
};

/** `isNew`: the scope is chosen at creation and cannot be changed. */
export const KeyFields = ({ form, set, faults, models, isNew }: Parts & Pick<KeysPage, "models"> & { isNew: boolean }): VNode => (
  <>
    <LabelledField label="Name" fault={faults.name} hint="The purpose of the key.">
      {(aria) => (
        <input {...aria} value={form.name} maxLength={200} onInput={(event) => set({ name: event.currentTarget.value })} />
      )}
    </LabelledField>
    {isNew && (
      <fieldset>
        <legend>Scope</legend>
        {(
          [
            ["generate", "Generate and read"],
            ["read", "Read only"],
          ] as const
        ).map(([scope, says]) => (
          <label class="choice" key={scope}>
            <input type="radio" name="scope" checked={form.scope === scope} onChange={() => set({ scope })} />
            {says}
          </label>
        ))}
      </fieldset>
    )}
    <LabelledField label="Expires">
      {(aria) => (
        <select {...aria} value={form.expiry} onChange={(event) => set({ expiry: event.currentTarget.value as Expiry })}>
          {Object.entries(EXPIRIES).map(([value, says]) => (
            <option key={value} value={value}>
              {says}
            </option>
          ))}
        </select>
      )}
    </LabelledField>
    {form.expiry === "date" && (
      <LabelledField label="Last day" fault={faults.date} hint="The key expires at the end of this day, UTC.">
        {(aria) => (
          <input {...aria} type="date" value={form.date} onInput={(event) => set({ date: event.currentTarget.value })} />
        )}
      </LabelledField>
    )}
    <fieldset class="key-amounts">
      <legend>Spending limits in USD</legend>
      {KEY_WINDOWS.map((window) => (
        <LabelledField key={window} label={WINDOW_NAMES[window]} fault={faults[window]}>
          {(aria) => (
            <input
              {...aria}
              inputMode="decimal"
              placeholder="no limit"
              value={form.limits[window]}
              onInput={(event) => set({ limits: { ...form.limits, [window]: event.currentTarget.value } })}
            />
          )}
        </LabelledField>
      ))}
    </fieldset>
    <ModelChoice {...{ form, set, faults, models }} />
  </>
);
