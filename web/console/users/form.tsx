// Form component of the user pages: named fields, one button and one error message.
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { errorText } from "../../components/api.ts";

type FieldProps = {
  says: string;
  name: string;
  type?: "text" | "email" | "password";
  autoComplete: string;
  value?: string;
  hint?: string;
  readOnly?: boolean;
};

export const Field = ({ says, name, type = "text", autoComplete, value, hint, readOnly }: FieldProps): VNode => {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{says}</label>
      <input
        {...{ id, name, readOnly }}
        // The library has a separate type for each kind of input.
        type={type as "text"}
        autocomplete={autoComplete}
        required
        defaultValue={value}
        aria-describedby={hint ? `${id}-hint` : undefined}
      />
      {hint && (
        <span class="field-hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
};

export const Fault = ({ says }: { says: string | null }): VNode | null =>
  says === null ? null : (
    <p class="notice is-bad" role="alert">
      {says}
    </p>
  );

type FormProps = {
  does: string;
  /** Submits the entered values, by name of the field. */
  send: (entered: (name: string) => string) => Promise<unknown>;
  /** Message after success. */
  done?: string;
  /** True if the fields are cleared after success. */
  empties?: boolean;
  /** True if the first field has the focus at first. */
  isFocused?: boolean;
  children: ComponentChildren;
};

/** Focuses the first empty field, after the page has moved the focus to its heading. */
const useFirstField = (isFocused: boolean) => {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (!isFocused) return;
    const timer = setTimeout(() => {
      const fields = [...(form.current?.querySelectorAll<HTMLInputElement>("input:not([type=hidden])") ?? [])];
      fields.find(({ readOnly, value }) => !readOnly && value === "")?.focus();
    });
    return () => clearTimeout(timer);
  }, [isFocused]);
  return form;
};

export const Form = ({ does, send, done, empties = false, isFocused = false, children }: FormProps): VNode => {
  const [state, setState] = useState<{ fault: string | null; isBusy: boolean; isDone: boolean }>({
    ...{ fault: null, isBusy: false, isDone: false },
  });
  const form = useFirstField(isFocused);
  const submit = async (sent: HTMLFormElement): Promise<void> => {
    const entered = new FormData(sent);
    setState({ fault: null, isBusy: true, isDone: false });
    try {
      await send((name) => String(entered.get(name) ?? ""));
      if (empties) sent.reset();
      setState({ fault: null, isBusy: false, isDone: true });
    } catch (fault) {
      setState({ fault: errorText(fault), isBusy: false, isDone: false });
    }
  };
  return (
    <form
      ref={form}
      class="narrow"
      onSubmit={(event) => {
        event.preventDefault();
        if (!state.isBusy) void submit(event.currentTarget);
      }}
    >
      {children}
      <Fault says={state.fault} />
      {state.isDone && done !== undefined && (
        <p class="notice is-good" role="status">
          {done}
        </p>
      )}
      <div class="actions">
        <button type="submit" class="button is-main" aria-disabled={state.isBusy}>
          {does}
        </button>
      </div>
    </form>
  );
};
