// The tables of routes: cost, price, margin, source of the cost, and what is not verified.
import { builtInCatalogue } from "../../catalogue/load.ts";
import { marginOf, marginText } from "../../catalogue/margin.ts";
import { microUsd } from "../../catalogue/rates.ts";
import type { Model, Rate, Route } from "../../catalogue/schema.ts";

const usd = (micro: number): string => String(micro / 1e6);
const spanOf = (values: readonly number[], shown: (value: number) => string): string => {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return least === most ? shown(least) : `${shown(least)}–${shown(most)}`;
};
const priceText = (rates: readonly Rate[]): string =>
  rates.length === 0
    ? "?"
    : spanOf(
        rates.map((rate) => microUsd(rate.usd)),
        usd,
      );

const routeLine = (route: Route): string => {
  const { id, provider, endpoint, cost = [], rates, source, not_verified = [] } = route;
  const cells = [
    ...[
      `\`${id.slice(id.indexOf("/") + 1)}\``,
      provider,
      `\`${endpoint}\``,
      priceText(cost),
      priceText(rates),
      marginText(marginOf(route)),
    ],
    ...[source ? `${source.price} (${source.as_of})` : "?", not_verified.join("; ")],
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
};

const sectionOf = (model: Model): string =>
  [
    `### \`${model.id}\``,
    "",
    `${model.name}, ${model.kind}: ${model.tasks.join(", ")}. USD per ${model.price.unit.replaceAll("_", " ")}.`,
    "",
    "| route | provider | endpoint | cost | price | left | source of the cost | not verified |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ...model.routes.map(routeLine),
  ].join("\n");

/** One section for each model. */
export const routePages = (): string => builtInCatalogue().models.map(sectionOf).join("\n\n");
