// Form fields of a model by type: choices, numbers, texts with counter, and media.
import type { VNode } from "preact";
import { isDecimalField } from "../../../catalogue/fields.ts";
import { type FormField, isSegmented, lengthOf, titleOf } from "./form.ts";
import { MediaInput } from "./media-input.tsx";

type Props = {
  field: FormField;
  value: string;
  set: (value: string) => void;
  fault: string | null;
  /** Called when uploads for the field begin and end. */
  onSending: (isSending: boolean) => void;
};

const hintOf = ({ kind, option }: FormField): string[] => [
  ...(kind === "range" ? [`${option.min} to ${option.max}`] : []),
  ...(kind === "link" ? ["An https address or a file"] : []),
  ...(kind === "links" ? [`Up to ${option.max_items} https addresses or files, one per line`] : []),
  ...(option.min_s === undefined ? [] : [`at least ${option.min_s} s`]),
  ...(option.max_s === undefined ? [] : [`at most ${option.max_s} s`]),
  ...(option.max_total_s === undefined ? [] : [`at most ${option.max_total_s} s in total`]),
  ...(option.requires ? [`requires ${option.requires.map(titleOf).join(", ")}`] : []),
  ...(option.excludes ? [`cannot be combined with ${option.excludes.map(titleOf).join(", ")}`] : []),
];

const message = (value: unknown): string => (value === true ? "On" : value === false ? "Off" : String(value));

const Choice = ({ field, value, set, describedBy }: Props & { describedBy: string | undefined }): VNode => {
  const { name, option } = field;
  const texts = (option.values ?? []).map((one) => [String(one), message(one)] as const);
  const all = option.required || option.default !== undefined ? texts : [["", "Not set"] as const, ...texts];
  if (isSegmented(field))
    return (
      <div class="segments" role="presentation">
        {all.map(([text, says]) => (
          <label key={text} class="segment">
            <input type="radio" name={name} value={text} checked={value === text} onChange={() => set(text)} />
            <span>{says}</span>
          </label>
        ))}
      </div>
    );
  return (
    <select
      id={`field-${name}`}
      value={value}
      aria-describedby={describedBy}
      onChange={({ currentTarget }) => set(currentTarget.value)}
    >
      {all.map(([text, says]) => (
        <option key={text} value={text}>
          {says}
        </option>
      ))}
    </select>
  );
};

const Typed = ({ field, value, set, fault, describedBy }: Props & { describedBy: string | undefined }): VNode => {
  const { name, kind, option } = field;
  const common = {
    id: `field-${name}`,
    name,
    value,
    required: option.required === true,
    "aria-invalid": fault !== null,
    "aria-describedby": describedBy,
    onInput: (event: { currentTarget: { value: string } }) => set(event.currentTarget.value),
  };
  const isDecimal = isDecimalField(name);
  if (kind === "range")
    return (
      <input
        type="number"
        step={isDecimal ? "any" : 1}
        {...{ min: option.min, max: option.max }}
        inputMode={isDecimal ? "decimal" : "numeric"}
        {...common}
      />
    );
  return <textarea rows={name === "prompt" ? 4 : 2} {...common} />;
};

export const FormInput = (props: Props): VNode => {
  const { field, value, fault } = props;
  const { name, option, kind } = field;
  const isGroup = kind === "choice" && isSegmented(field);
  const hints = hintOf(field);
  const counter =
    kind === "text" && option.max_length !== undefined ? `${lengthOf(value)} of ${option.max_length} characters` : null;
  const describedBy = [hints.length > 0 ? `hint-${name}` : "", counter ? `count-${name}` : "", fault ? `fault-${name}` : ""]
    .filter(Boolean)
    .join(" ");
  const title = (
    <>
      {titleOf(name)}
      {option.required && <span class="muted"> (required)</span>}
    </>
  );
  const inside = (
    <>
      {kind === "choice" && <Choice {...props} describedBy={describedBy || undefined} />}
      {field.media !== null && <MediaInput {...props} media={field.media} describedBy={describedBy || undefined} />}
      {kind !== "choice" && field.media === null && <Typed {...props} describedBy={describedBy || undefined} />}
      {hints.length > 0 && (
        <span class="field-hint" id={`hint-${name}`}>
          {hints.join("; ")}
        </span>
      )}
      {counter && (
        <span class="field-hint counter" id={`count-${name}`}>
          {counter}
        </span>
      )}
      {fault && (
        <span class="field-fault" id={`fault-${name}`}>
          {fault}
        </span>
      )}
    </>
  );
  return isGroup ? (
    <fieldset class="field" aria-describedby={describedBy || undefined}>
      <legend>{title}</legend>
      {inside}
    </fieldset>
  ) : (
    <div class="field">
      <label for={`field-${name}`}>{title}</label>
      {inside}
    </div>
  );
};
