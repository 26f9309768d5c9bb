// Form fields of a model by type: choices, numbers, texts with counter, and media.
import type { VNode } from "preact";
import { isDecimalField } from "../../../catalogue/fields.ts";
import { words } from "../../words/console-words.ts";
import { type FormField, isSegmented, lengthOf, titleOf } from "./form.ts";
import { MediaInput } from "./media-input.tsx";
import { SeedInput } from "./seed-input.tsx";

type Props = {
  field: FormField;
  value: string;
  set: (value: string) => void;
  fault: string | null;
  /** Called when uploads for the field begin and end. */
  onSending: (isSending: boolean) => void;
  /** Whether the seed stays the same after a submission, with the function that changes it. */
  seedLock: readonly [isLocked: boolean, lock: (isLocked: boolean) => void];
};

/** The counter appears when it matters. */
const isNearLimit = (text: string, most: number): boolean => lengthOf(text) > most * 0.8;

const titles = (names: readonly string[]): string => names.map(titleOf).join(", ");

const rangeHint = ({ name, option }: FormField): string => {
  const [min, max] = [option.min ?? 0, option.max ?? 0];
  if (name === "seed") return words.playground.seedAbout;
  return name === "duration" ? words.field.seconds(min, max) : words.field.range(min, max);
};

/** What a field takes besides its values, and what it can be combined with. */
export const hintOf = (field: FormField): string[] => {
  const { kind, option } = field;
  const { field: says } = words;
  return [
    ...(kind === "range" ? [rangeHint(field)] : []),
    ...(kind === "links" ? [says.links(option.max_items ?? 1)] : []),
    ...(option.min_s === undefined ? [] : [says.atLeast(option.min_s)]),
    ...(option.max_s === undefined ? [] : [says.atMost(option.max_s)]),
    ...(option.max_total_s === undefined ? [] : [says.atMostTotal(option.max_total_s)]),
    ...(option.requires ? [says.requires(titles(option.requires))] : []),
    ...(option.excludes ? [says.excludes(titles(option.excludes))] : []),
  ];
};

/** A choice of a field as text; true and false are On and Off. */
export const valueText = (value: unknown): string =>
  value === true ? words.field.on : value === false ? words.field.off : String(value);

const Choice = ({ field, value, set, describedBy }: Props & { describedBy: string | undefined }): VNode => {
  const { name, option } = field;
  const texts = (option.values ?? []).map((one) => [String(one), valueText(one)] as const);
  const all = option.required || option.default !== undefined ? texts : [["", words.field.unset] as const, ...texts];
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
    kind === "text" && option.max_length !== undefined && isNearLimit(value, option.max_length)
      ? words.field.characters(lengthOf(value), option.max_length)
      : null;
  const describedBy = [hints.length > 0 ? `hint-${name}` : "", counter ? `count-${name}` : "", fault ? `fault-${name}` : ""]
    .filter(Boolean)
    .join(" ");
  const title = (
    <>
      {titleOf(name)}
      {option.required && <span class="muted"> {words.field.required}</span>}
    </>
  );
  const inside = (
    <>
      {kind === "choice" && <Choice {...props} describedBy={describedBy || undefined} />}
      {field.media !== null && <MediaInput {...props} media={field.media} describedBy={describedBy || undefined} />}
      {name === "seed" && <SeedInput {...props} describedBy={describedBy || undefined} />}
      {kind !== "choice" && name !== "seed" && field.media === null && (
        <Typed {...props} describedBy={describedBy || undefined} />
      )}
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
