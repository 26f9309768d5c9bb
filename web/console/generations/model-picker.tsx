// Model picker: search by name and maker, filter by media kind.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ModelEntry } from "../../../catalogue/public-model.ts";

const KINDS = [
  ["", "All"],
  ["image", "Image"],
  ["video", "Video"],
  ["audio", "Audio"],
] as const;

const matches = (model: ModelEntry, words: readonly string[], kind: string): boolean => {
  const text = `${model.id} ${model.name} ${model.maker ?? ""} ${model.tasks.join(" ")}`.toLowerCase();
  return (kind === "" || model.kind === kind) && words.every((word) => text.includes(word));
};

export const ModelPicker = (of: {
  models: readonly ModelEntry[];
  chosen: string | null;
  choose: (id: string) => void;
}): VNode => {
  const [search, setSearch] = useState("");
  const [kind, setKind] = useState("");
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = of.models.filter((model) => matches(model, words, kind));
  return (
    <section class="model-picker" aria-label="Model">
      <div class="field">
        <label for="model-search">Search models</label>
        <input id="model-search" type="search" value={search} onInput={({ currentTarget }) => setSearch(currentTarget.value)} />
      </div>
      <fieldset class="field">
        <legend class="unseen">Kind</legend>
        <div class="segments">
          {KINDS.map(([value, says]) => (
            <label key={value} class="segment">
              <input type="radio" name="model-kind" checked={kind === value} onChange={() => setKind(value)} />
              <span>{says}</span>
            </label>
          ))}
        </div>
      </fieldset>
      <fieldset class="models">
        <legend class="unseen">Models</legend>
        {found.map(({ id, name, maker, kind: makes }) => (
          <label key={id} class="model">
            <input type="radio" name="model" value={id} checked={of.chosen === id} onChange={() => of.choose(id)} />
            <span>
              <strong>{name}</strong>
              <span class="muted">
                {maker === null ? "" : `${maker}, `}
                {makes}
              </span>
            </span>
          </label>
        ))}
        {found.length === 0 && <p class="muted">No model matches. Change the search.</p>}
      </fieldset>
    </section>
  );
};
