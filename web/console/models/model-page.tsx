// `/console/models/:id`: what a model makes, what it costs, what it takes, which routes it has, and how to request it.
import { WandSparkles } from "lucide";
import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import type { GenerationsPage, ModelDto, ModelsDto } from "../../../src/console/generations-dto.ts";
import { Icon } from "../../components/icon.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { useTitle } from "../../components/title.ts";
import { useQuery } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { usdText } from "../credits/amounts.ts";
import { Copy } from "../generations/copy.tsx";
import { readRemembered, withFavourite } from "../playground/draft.ts";
import { GenerationStrip } from "../playground/history-strip.tsx";
import { FavouriteButton, KindTile } from "../playground/model-chooser.tsx";
import { fromPrice } from "../playground/model-facts.ts";
import { type PriceQuery, useQuotes } from "../playground/price.tsx";
import { RequestCode } from "../playground/request-code.tsx";
import { exampleInput, isQuotable } from "./example-input.ts";
import { ModelInput } from "./model-input.tsx";
import { ModelPrices } from "./model-prices.tsx";

const Section = ({ title, about, children }: { title: string; about?: string; children: ComponentChildren }): VNode => (
  <section class="model-section" aria-label={title}>
    <h2>{title}</h2>
    {about !== undefined && <p class="muted">{about}</p>}
    {children}
  </section>
);

const Head = ({ of }: { of: ModelDto }): VNode => {
  const [remembered, remember] = useState(readRemembered);
  return (
    <div class="model-head">
      <KindTile kind={of.kind} />
      <div class="model-head-text">
        <p class="muted">
          {[of.maker, words.model.kinds[of.kind]].filter(Boolean).join(" · ")} · <code>{of.id}</code>{" "}
          <Copy text={of.id} says={words.actions.copy} of={of.id} />
        </p>
        <ul class="badges" aria-label={words.modelPage.tasks}>
          {of.tasks.map((task) => (
            <li key={task} class="badge">
              {words.model.tasks[task]}
            </li>
          ))}
        </ul>
      </div>
      <FavouriteButton
        name={of.name}
        isFavourite={remembered.favourites.includes(of.id)}
        favour={() => remember(withFavourite(remembered, of.id))}
      />
      <a class="button is-main" href={`/console/playground?model=${of.id}`}>
        <Icon of={WandSparkles} size={16} />
        {words.modelPage.try}
      </a>
    </div>
  );
};

const Figures = ({ of, routes }: { of: ModelDto; routes: number | null }): VNode => (
  <dl class="model-figures">
    {fromPrice(of) !== "" && (
      <div>
        <dt>{words.modelPage.price}</dt>
        <dd>{fromPrice(of)}</dd>
      </div>
    )}
    {of.expectedS !== null && (
      <div>
        <dt>{words.modelPage.time}</dt>
        <dd>{words.model.about(of.expectedS)}</dd>
      </div>
    )}
    {routes !== null && (
      <div>
        <dt>{words.modelPage.routes}</dt>
        <dd>{routes}</dd>
      </div>
    )}
  </dl>
);

/** The routes of the example request, in the order in which they are tried. */
const useRoutes = (model: ModelDto) => {
  const request: PriceQuery | null = isQuotable(model) ? { model: model.id, input: exampleInput(model) } : null;
  const [priced] = useQuotes([request]);
  return priced?.quote?.refusal === null ? priced.quote.routes : null;
};

const Routes = ({ of }: { of: NonNullable<ReturnType<typeof useRoutes>> }): VNode => (
  <Section title={words.modelPage.routes} about={words.modelPage.routesAbout}>
    <table class="model-table paneled">
      <caption class="unseen">{words.modelPage.routes}</caption>
      <thead>
        <tr>
          <th scope="col">{words.modelPage.route}</th>
          <th scope="col" class="number">
            {words.modelPage.price}
          </th>
          <th scope="col" class="number">
            {words.modelPage.time}
          </th>
        </tr>
      </thead>
      <tbody>
        {of.map(({ n, name, priceCredits, expectedS }) => (
          <tr key={n}>
            <td>{name ?? words.playground.route(n)}</td>
            <td class="number">{priceCredits === null ? words.playground.routeByLength : usdText(priceCredits)}</td>
            <td class="number">{words.model.about(expectedS)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Section>
);

const Recent = ({ of }: { of: ModelDto }): VNode | null => {
  const { value } = useQuery<GenerationsPage>(`/console/api/generations?model=${of.id}`);
  const shown = value?.generations.filter(({ files }) => files.length > 0) ?? [];
  if (shown.length === 0) return null;
  return (
    <Section title={words.modelPage.recent}>
      <GenerationStrip of={shown} label={words.modelPage.recent} />
      <p>
        <a href={`/console/generations?model=${of.id}`}>{words.modelPage.allRecent}</a>
      </p>
    </Section>
  );
};

const Loaded = ({ of }: { of: ModelDto }): VNode => {
  useTitle(of.name);
  const routes = useRoutes(of);
  return (
    <div class="model-page">
      <Head of={of} />
      <Figures of={of} routes={routes?.length ?? null} />
      <Recent of={of} />
      <Section title={words.modelPage.prices} about={words.playground.onlyDelivered}>
        <ModelPrices of={of} />
      </Section>
      {routes !== null && <Routes of={routes} />}
      <Section title={words.modelPage.input}>
        <ModelInput of={of} />
      </Section>
      <Section title={words.modelPage.request}>
        <RequestCode request={{ model: of.id, input: exampleInput(of) }} isOpen />
      </Section>
    </div>
  );
};

export const ModelPage = ({ id }: { id: string }): VNode => {
  const { value, fault } = useQuery<ModelsDto>("/console/api/models");
  const model = value?.models.find((one) => one.id === id);
  if (fault !== null)
    return (
      <p class="fault" role="alert">
        {fault}
      </p>
    );
  if (!value) return <Skeleton lines={8} label={words.playground.loading} />;
  if (model) return <Loaded of={model} />;
  return (
    <div class="empty">
      <p>{words.model.unavailable(id)}</p>
      <p>
        <a href="/console/models">{words.field.showAll}</a>
      </p>
    </div>
  );
};
