// Model chooser: a dialog with search, kinds, favourites and recently used models, each with price, time and tasks.
import { AudioLines, Clapperboard, type IconNode, Image, Star } from "lucide";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ModelDto } from "../../../src/console/generations-dto.ts";
import { Icon } from "../../components/icon.tsx";
import { Modal } from "../../components/modal.tsx";
import { words } from "../../words/console-words.ts";
import { type Remembered, withFavourite } from "./draft.ts";
import { fromPrice, matchModels, tasksOf } from "./model-facts.ts";
import { type KindChoice, ModelSearch } from "./model-search.tsx";

const ICONS: Readonly<Record<ModelDto["kind"], IconNode>> = { image: Image, video: Clapperboard, audio: AudioLines };

/** The kind of a model, as a coloured tile. */
export const KindTile = ({ kind }: Pick<ModelDto, "kind">): VNode => (
  <span class={`kind-tile is-${kind}`}>
    <Icon of={ICONS[kind]} size={20} />
  </span>
);

/** Price, time and maker of a model in one line. */
export const ModelLine = ({ of }: { of: ModelDto }): VNode => (
  <span class="model-line">
    {[fromPrice(of), of.expectedS === null ? "" : words.model.about(of.expectedS)].filter(Boolean).join(" · ")}
  </span>
);

type CardProps = { of: ModelDto; isChosen: boolean; isFavourite: boolean; choose: () => void; favour: () => void };

/** Name, price, time, maker and tasks of a model in three lines. */
export const ModelText = ({ of }: { of: ModelDto }): VNode => (
  <span class="model-text">
    <strong>{of.name}</strong>
    <ModelLine of={of} />
    <span class="model-tasks">{[of.maker, tasksOf(of)].filter(Boolean).join(" · ")}</span>
  </span>
);

type FavouriteProps = { name: string; isFavourite: boolean; favour: () => void };
export const FavouriteButton = ({ name, isFavourite, favour }: FavouriteProps): VNode => (
  <button
    type="button"
    class="button is-quiet is-icon"
    aria-label={words.model.favour(name)}
    aria-pressed={isFavourite}
    onClick={favour}
  >
    <Icon of={Star} size={16} />
  </button>
);

const ModelCard = ({ of, isChosen, isFavourite, choose, favour }: CardProps): VNode => (
  <li class={`model-card${isChosen ? " is-chosen" : ""}`}>
    <button type="button" class="model-choice" onClick={choose} aria-pressed={isChosen}>
      <KindTile kind={of.kind} />
      <ModelText of={of} />
    </button>
    <FavouriteButton {...{ name: of.name, isFavourite, favour }} />
  </li>
);

type Group = { title: string; models: readonly ModelDto[] };

/** Favourites and recent models are groups of their own while nothing is searched for. */
export const groupsOf = (models: readonly ModelDto[], search: string, { favourites, recent }: Remembered): Group[] => {
  if (search.trim() !== "") return [{ title: words.model.count(models.length), models }];
  const among = (ids: readonly string[]) => ids.flatMap((id) => models.find((model) => model.id === id) ?? []);
  const groups = [
    { title: words.model.favourites, models: among(favourites) },
    { title: words.model.recent, models: among(recent.filter((id) => !favourites.includes(id))) },
    { title: words.model.all, models },
  ];
  return groups.filter((group) => group.models.length > 0);
};

type Props = {
  title: string;
  models: readonly ModelDto[];
  chosen: readonly string[];
  remembered: Remembered;
  remember: (next: Remembered) => void;
  choose: (id: string) => void;
  close: () => void;
};

export const ModelChooser = (of: Props): VNode => {
  const [search, setSearch] = useState("");
  const [kind, setKind] = useState<KindChoice>("");
  const found = matchModels(of.models, search, kind);
  return (
    <Modal title={of.title} class="model-chooser" close={of.close}>
      <ModelSearch {...{ search, setSearch, kind, setKind }} />
      <div class="model-groups">
        {found.length === 0 && <p role="status">{words.model.noMatch(search)}</p>}
        {groupsOf(found, search, of.remembered).map(({ title, models }) => (
          <section key={title} aria-label={title}>
            <h3>{title}</h3>
            <ul class="model-cards">
              {models.map((model) => (
                <ModelCard
                  key={model.id}
                  of={model}
                  isChosen={of.chosen.includes(model.id)}
                  isFavourite={of.remembered.favourites.includes(model.id)}
                  choose={() => of.choose(model.id)}
                  favour={() => of.remember(withFavourite(of.remembered, model.id))}
                />
              ))}
            </ul>
          </section>
        ))}
      </div>
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={of.close}>
          {words.actions.close}
        </button>
      </div>
    </Modal>
  );
};
