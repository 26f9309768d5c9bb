// Dialogs and form fields of the operator pages.
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { errorText } from "../../components/api.ts";
import { Modal } from "../../components/modal.tsx";
import { words } from "../../words/console-words.ts";

type Props = {
  title: string;
  /** Label of the submit button; null if there is nothing more to submit. */
  does: string | null;
  isDanger?: boolean;
  close: () => void;
  /** Performs the action; returns a message if a field must be corrected first. */
  run?: () => Promise<string | undefined>;
  children: ComponentChildren;
};

/** The focus stays inside, Escape closes the dialog, and the focus then returns to the previous element. */
export const DialogState = ({ title, does, isDanger, close, run, children }: Props): VNode => {
  const isGone = useRef(false);
  const [fault, setFault] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(
    () => () => {
      isGone.current = true;
    },
    [],
  );
  const submit = async (event: Event) => {
    event.preventDefault();
    if (isBusy || !run) return;
    setBusy(true);
    setFault(null);
    const wrong = await run().catch(errorText);
    if (isGone.current) return;
    setBusy(false);
    setFault(wrong ?? null);
  };
  return (
    // Cannot be closed during a request, because its result would not be shown.
    <Modal title={title} close={() => isBusy || close()}>
      <form onSubmit={(event) => void submit(event)} noValidate>
        {children}
        {fault !== null && (
          <p class="notice is-bad" role="alert">
            {fault}
          </p>
        )}
        <div class="dialog-buttons">
          <button type="button" class="button" onClick={close} disabled={isBusy}>
            {does === null ? words.actions.close : words.actions.cancel}
          </button>
          {does !== null && (
            <button type="submit" class={`button ${isDanger ? "is-danger" : "is-main"}`} disabled={isBusy}>
              {does}
            </button>
          )}
        </div>
      </form>
    </Modal>
  );
};

/** A labelled field with its description. A required one is marked before anything is sent. */
export const LabelledField = (of: {
  says: string;
  about?: string;
  isRequired?: boolean;
  children: (id: string, about: string | undefined) => VNode;
}): VNode => {
  const id = useId();
  const about = of.about === undefined ? undefined : `${id}-about`;
  return (
    <div class="field">
      <label for={id}>
        {of.says}
        {of.isRequired && <span class="required"> {words.field.required}</span>}
      </label>
      {of.children(id, about)}
      {about !== undefined && (
        <p class="muted" id={about}>
          {of.about}
        </p>
      )}
    </div>
  );
};

export const TextField = (of: {
  says: string;
  value: string;
  set: (value: string) => void;
  about?: string;
  isRequired?: boolean;
  /** Hides the typed text. */
  isSecret?: boolean;
  inputMode?: "decimal" | "numeric" | "search";
  maxLength?: number;
}): VNode => (
  <LabelledField says={of.says} isRequired={of.isRequired ?? false} {...(of.about === undefined ? {} : { about: of.about })}>
    {(id, about) => {
      const props = {
        ...{ id, value: of.value, inputMode: of.inputMode, maxLength: of.maxLength, "aria-describedby": about },
        ...{ autocomplete: "off", spellcheck: false, required: of.isRequired },
        onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) => of.set(currentTarget.value),
      };
      return of.isSecret ? <input type="password" {...props} /> : <input type="text" {...props} />;
    }}
  </LabelledField>
);
