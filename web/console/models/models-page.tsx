// `/console/models`: all available models with search and kinds; each card leads to the page of its model.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { useSearch } from "wouter-preact";
import { navigate } from "wouter-preact/use-browser-location";
import type { ModelDto, ModelsDto } from "../../../src/console/generations-dto.ts";
import { Skeleton } from "../../components/skeleton.tsx";
import { useQuery } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { readRemembered, withFavourite } from "../playground/draft.ts";
import { FavouriteButton, groupsOf, KindTile, ModelText } from "../playground/model-chooser.tsx";
import { inOrder, matchModels } from "../playground/model-facts.ts";
import { KIND_CHOICES, type KindChoice, ModelSearch } from "../playground/model-search.tsx";
import { NoModel } from "../playground/no-model.tsx";

const Card = ({ of, isFavourite, favour }: { of: ModelDto; isFavourite: boolean; favour: () => void }): VNode => (
  <li class="model-card">
    <a class="model-choice" href={`/console/models/${of.id}`}>
      <KindTile kind={of.kind} />
      <ModelText of={of} />
    </a>
    <FavouriteButton name={of.name} isFavourite={isFavourite} favour={favour} />
  </li>
);

const isKind = (text: string | null): text is KindChoice => KIND_CHOICES.some((kind) => kind === text);

/** The search and the kind are part of the address, so that Back restores them. */
const useFilters = () => {
  const query = new URLSearchParams(useSearch());
  const kind = query.get("kind");
  const change = (name: "q" | "kind", value: string) => {
    if (value === "") query.delete(name);
    else query.set(name, value);
    navigate(`/console/models${query.size === 0 ? "" : `?${query}`}`, { replace: true });
  };
  return { search: query.get("q") ?? "", kind: isKind(kind) ? kind : "", change } as const;
};

const Loaded = ({ models, mode }: ModelsDto): VNode => {
  const { search, kind, change } = useFilters();
  const [remembered, remember] = useState(readRemembered);
  const found = matchModels(inOrder(models, mode), search, kind);
  return (
    <div class="models">
      <ModelSearch {...{ search, kind }} setSearch={(text) => change("q", text)} setKind={(value) => change("kind", value)} />
      {found.length === 0 && <p role="status">{words.model.noMatch(search)}</p>}
      {groupsOf(found, search, remembered).map(({ title, models: group }) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          <ul class="model-cards">
            {group.map((model) => (
              <Card
                key={model.id}
                of={model}
                isFavourite={remembered.favourites.includes(model.id)}
                favour={() => remember(withFavourite(remembered, model.id))}
              />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
};

export const ModelsPage = (): VNode => {
  const { value, fault } = useQuery<ModelsDto>("/console/api/models");
  if (fault !== null)
    return (
      <p class="fault" role="alert">
        {fault}
      </p>
    );
  if (!value) return <Skeleton lines={8} label={words.playground.loading} />;
  return value.models.length === 0 ? <NoModel /> : <Loaded {...value} />;
};
