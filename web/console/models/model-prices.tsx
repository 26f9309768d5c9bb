// The prices of a model: one row for each combination of the fields that set the price.
import type { VNode } from "preact";
import type { EntryRate, ModelEntry } from "../../../catalogue/public-model.ts";
import { usdRate } from "../../components/format.ts";
import { words } from "../../words/console-words.ts";
import { valueText } from "../playground/fields.tsx";
import { titleOf } from "../playground/form.ts";

type Line = EntryRate & { says: string };

/** All rates in one list; a price for input videos or input images is a row of its own. */
const linesOf = ({ price }: ModelEntry): Line[] => [
  ...price.rates.map((rate) => ({ ...rate, says: price.video_input_rates.length > 0 ? words.modelPage.withoutVideo : "" })),
  ...price.video_input_rates.map((rate) => ({ ...rate, says: words.modelPage.withVideo })),
  ...(price.image_input_rates ?? []).map((rate) => ({ ...rate, says: words.modelPage.perInputImage })),
];

export const ModelPrices = ({ of }: { of: ModelEntry }): VNode => {
  const lines = linesOf(of);
  const fields = [...new Set(lines.flatMap(({ when }) => Object.keys(when)))];
  const isSpecial = lines.some(({ says }) => says !== "");
  return (
    <table class="model-table paneled">
      <caption class="unseen">{words.modelPage.prices}</caption>
      <thead>
        <tr>
          {fields.map((name) => (
            <th key={name} scope="col">
              {titleOf(name)}
            </th>
          ))}
          {isSpecial && <th scope="col">{words.modelPage.applies}</th>}
          <th scope="col" class="number">
            {words.modelPage.price}
          </th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <tr key={JSON.stringify([line.says, line.when])}>
            {fields.map((name) => {
              const value = Object.entries(line.when).find(([field]) => field === name)?.[1];
              return <td key={name}>{value === undefined ? words.modelPage.any : valueText(value)}</td>;
            })}
            {isSpecial && <td>{line.says === "" ? words.modelPage.forResult : line.says}</td>}
            <td class="number">
              {usdRate(line.usd)}
              {line.says === words.modelPage.perInputImage ? words.model.units.image : words.model.units[of.price.unit]}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
};
