// Search field and kinds of a list of models.
import type { VNode } from "preact";
import { words } from "../../words/console-words.ts";

/** The kinds of a search; an empty text is all of them. */
export const KIND_CHOICES = ["", "image", "video", "audio"] as const;
export type KindChoice = (typeof KIND_CHOICES)[number];

type Props = { search: string; setSearch: (search: string) => void; kind: KindChoice; setKind: (kind: KindChoice) => void };

export const ModelSearch = ({ search, setSearch, kind, setKind }: Props): VNode => (
  <div class="model-search">
    <input
      type="search"
      aria-label={words.model.search}
      placeholder={words.model.search}
      value={search}
      onInput={({ currentTarget }) => setSearch(currentTarget.value)}
    />
    <fieldset>
      <legend class="unseen">{words.model.kind}</legend>
      <div class="segments">
        {KIND_CHOICES.map((value) => (
          <label key={value} class="segment">
            <input type="radio" name="model-kind" checked={kind === value} onChange={() => setKind(value)} />
            <span>{words.model.kinds[value]}</span>
          </label>
        ))}
      </div>
    </fieldset>
  </div>
);
