// The input fields of a model: accepted values, default, and what they can be combined with.
import type { VNode } from "preact";
import type { ModelEntry } from "../../../catalogue/public-model.ts";
import { words } from "../../words/console-words.ts";
import { hintOf, valueText } from "../playground/fields.tsx";
import { type FormField, fieldsOf, titleOf } from "../playground/form.ts";

const acceptedBy = ({ kind, option, media }: FormField): string => {
  if (option.values) return option.values.map(valueText).join(", ");
  if (media !== null) return words.field.kinds[media];
  if (kind === "text") return words.modelPage.text(option.max_length ?? 0);
  return words.field.range(option.min ?? 0, option.max ?? 0);
};

/** The hints of the form, without the range, which has its own column. */
const notesOf = (field: FormField): string => {
  const hints = hintOf(field);
  return (field.kind === "range" ? hints.slice(1) : hints).join("; ");
};

const More = ({ of }: { of: FormField }): VNode | null => {
  const standard = of.option.default === undefined ? "" : words.modelPage.standard(valueText(of.option.default));
  const more = [standard, notesOf(of)].filter(Boolean).join("; ");
  return more === "" ? null : <span class="model-more">{more}</span>;
};

export const ModelInput = ({ of }: { of: ModelEntry }): VNode => (
  <table class="model-table paneled">
    <caption class="unseen">{words.modelPage.input}</caption>
    <thead>
      <tr>
        <th scope="col">{words.modelPage.field}</th>
        <th scope="col">{words.modelPage.accepts}</th>
      </tr>
    </thead>
    <tbody>
      {fieldsOf(of).map((field) => (
        <tr key={field.name}>
          <th scope="row">
            {titleOf(field.name)} {field.option.required && <span class="muted">{words.field.required}</span>}{" "}
            <code>{field.name}</code>
          </th>
          <td>
            {acceptedBy(field)}
            <More of={field} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);
