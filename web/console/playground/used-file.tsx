// A stored file that the playground was opened with: the models that take it, and the field that it is put into.
import type { VNode } from "preact";
import type { ModelEntry } from "../../../catalogue/public-model.ts";
import type { MediaKind } from "../../../src/domain/types.ts";
import { words } from "../../words/console-words.ts";
import { fieldsFor, linksIn, startValues, titleOf, type Values, withLink, withoutLink } from "./form.ts";

/** `value`: `file_…` or `gen_…/1`. */
export type UsedFile = { value: string; kind: MediaKind };

const KINDS: readonly MediaKind[] = ["image", "video", "audio"];

/** The file of `?use=…&kind=…`. */
export const usedFileOf = (query: URLSearchParams): UsedFile | null => {
  const [value, kind] = [query.get("use"), KINDS.find((one) => one === query.get("kind"))];
  return value === null || kind === undefined ? null : { value, kind };
};

export const modelsFor = (models: readonly ModelEntry[], used: UsedFile | null): readonly ModelEntry[] =>
  used === null ? models : models.filter((model) => fieldsFor(model, used.kind).length > 0);

/** Start values with the file in the first field that takes it. */
export const startWith = (model: ModelEntry, { value, kind }: UsedFile): Values => {
  const [field] = fieldsFor(model, kind);
  return { ...startValues(model), ...(field ? { [field.name]: value } : {}) };
};

export const UsedFileNotice = ({ of, isTaken }: { of: UsedFile; isTaken: boolean }): VNode => (
  <p class="notice used-file">
    {isTaken ? words.field.usedBy(words.field.kinds[of.kind]) : words.field.usedByNone(words.field.kinds[of.kind])}{" "}
    <code>{of.value}</code> <a href="/console/playground">{words.field.showAll}</a>
  </p>
);

/** Choice of the field, if the model has several for this kind. */
export const FieldChoice = (of: {
  model: ModelEntry;
  used: UsedFile;
  values: Values;
  set: (change: (values: Values) => Values) => void;
}): VNode | null => {
  const { value, kind } = of.used;
  const fields = fieldsFor(of.model, kind);
  const chosen = fields.find(({ name }) => linksIn(of.values[name] ?? "").includes(value));
  if (fields.length < 2) return null;
  const move = (to: string) =>
    of.set((all) => {
      const field = fields.find(({ name }) => name === to);
      const without = chosen ? { ...all, [chosen.name]: withoutLink(all[chosen.name] ?? "", value) } : all;
      return field ? { ...without, [to]: withLink(field, without[to] ?? "", value) } : without;
    });
  return (
    <div class="field">
      <label for="use-file-as">{words.field.useAs}</label>
      <select id="use-file-as" value={chosen?.name ?? ""} onChange={({ currentTarget }) => move(currentTarget.value)}>
        {chosen === undefined && <option value="">{words.field.notUsed}</option>}
        {fields.map(({ name }) => (
          <option key={name} value={name}>
            {titleOf(name)}
          </option>
        ))}
      </select>
    </div>
  );
};
