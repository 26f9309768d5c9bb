// The chosen models above the form: each opens the chooser, and further ones can be compared.
import { ChevronsUpDown, Columns2, Info, X } from "lucide";
import type { VNode } from "preact";
import type { ModelDto } from "../../../src/console/generations-dto.ts";
import { Icon } from "../../components/icon.tsx";
import { words } from "../../words/console-words.ts";
import { MOST_MODELS } from "./draft.ts";
import { KindTile, ModelLine } from "./model-chooser.tsx";
import { type Priced, totalText } from "./price.tsx";

type Props = {
  models: readonly ModelDto[];
  priced: readonly Priced[];
  /** Opens the chooser for the model at a position; `models.length` adds one. */
  change: (at: number) => void;
  remove: (at: number) => void;
};

const refusalOf = ({ quote, fault }: Priced): string | null => fault ?? (quote?.refusal ? quote.refusal.message : null);

export const ModelRows = ({ models, priced, change, remove }: Props): VNode => (
  <div class="model-rows">
    {models.map((model, at) => {
      const own = priced[at];
      const refusal = own ? refusalOf(own) : null;
      return (
        <div key={model.id} class="model-row">
          <button type="button" class="model-choice" onClick={() => change(at)}>
            <KindTile kind={model.kind} />
            <span class="unseen">{words.model.choose}: </span>
            <span class="model-text">
              <strong>{model.name}</strong>
              {models.length > 1 && own && totalText([own], 1) !== "" ? (
                <span>{totalText([own], 1)}</span>
              ) : (
                <ModelLine of={model} />
              )}
            </span>
            <Icon of={ChevronsUpDown} size={16} />
          </button>
          <a
            class="button is-quiet is-icon"
            href={`/console/models/${model.id}`}
            aria-label={words.model.page(model.name)}
            title={words.model.page(model.name)}
          >
            <Icon of={Info} size={16} />
          </a>
          {models.length > 1 && (
            <button
              type="button"
              class="button is-quiet is-icon"
              aria-label={words.playground.remove(model.name)}
              onClick={() => remove(at)}
            >
              <Icon of={X} size={16} />
            </button>
          )}
          {models.length > 1 && refusal !== null && <p class="fault">{refusal}</p>}
        </div>
      );
    })}
    {models.length < MOST_MODELS && (
      <button type="button" class="button is-quiet is-small" onClick={() => change(models.length)}>
        <Icon of={Columns2} size={16} />
        {words.playground.compare}
      </button>
    )}
  </div>
);
