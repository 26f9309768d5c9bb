// The input fields of a model: accepted values, default, and what they can be combined with.
import type { VNode } from "preact";
import type { ModelEntry } from "../../../catalogue/public-model.ts";
import { words } from "../../words/words.ts";
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

export const ModelInput = ({ of }: { of: ModelEntry }): VNode => {
  const fields = fieldsOf(of);
  const hasNotes = fields.some((field) => notesOf(field) !== "");
  const { field: name, accepts, default: standard, notes } = words.modelPage;
  return (
    <table class="model-table">
      <caption class="unseen">{words.modelPage.input}</caption>
      <thead>
        <tr>
          {[name, accepts, standard, ...(hasNotes ? [notes] : [])].map((says) => (
            <th key={says} scope="col">
              {says}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {fields.map((field) => (
          <tr key={field.name}>
            <th scope="row">
              {titleOf(field.name)} {field.option.required && <span class="muted">{words.field.required}</span>}
              <code>{field.name}</code>
            </th>
            <td>{acceptedBy(field)}</td>
            <td>{field.option.default === undefined ? "" : valueText(field.option.default)}</td>
            {hasNotes && <td>{notesOf(field)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
};
