// Labelled field of a form: mark of a required field, hint, and the error at the field.
import type { ComponentChildren, VNode } from "preact";
import { useId } from "preact/hooks";
import { words } from "../words/console-words.ts";

/** The attributes of the control. */
export type FieldAria = { id: string; "aria-invalid": boolean; "aria-describedby": string | undefined; "aria-required": boolean };
type Props = {
  label: string;
  isRequired?: boolean;
  hint?: string;
  fault?: string | undefined;
  children: (aria: FieldAria) => ComponentChildren;
};

export const RequiredMark = (): VNode => <span class="required">{words.field.required}</span>;

export const LabelledField = ({ label, isRequired = false, hint, fault, children }: Props): VNode => {
  const id = useId();
  const text = fault ?? hint;
  const about = text === undefined ? undefined : `${id}-about`;
  return (
    <div class="field">
      <label for={id}>
        {label} {isRequired && <RequiredMark />}
      </label>
      {children({ id, "aria-invalid": fault !== undefined, "aria-describedby": about, "aria-required": isRequired })}
      {text !== undefined && (
        <span id={about} class={fault === undefined ? "field-hint" : "field-fault"}>
          {text}
        </span>
      )}
    </div>
  );
};

/** Focuses the first invalid field of a form after it is marked. */
export const focusFault = (form: () => HTMLElement | null): void => {
  setTimeout(() => form()?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
};
