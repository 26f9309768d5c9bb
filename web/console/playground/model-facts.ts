// What a model offers, in short texts: its lowest price, its tasks and how long it takes.
import type { ModelEntry } from "../../../catalogue/public-model.ts";
import { usdRate } from "../../components/format.ts";
import { words } from "../../words/console-words.ts";

/** `from $0.02 per image`; an empty text for a model without prices. */
export const fromPrice = ({ price }: Pick<ModelEntry, "price">): string => {
  const rates = [...price.rates, ...price.video_input_rates].map(({ usd: amount }) => amount);
  return rates.length === 0 ? "" : words.model.from(usdRate(Math.min(...rates)), words.model.units[price.unit]);
};

export const tasksOf = ({ tasks }: Pick<ModelEntry, "tasks">): string => tasks.map((task) => words.model.tasks[task]).join(", ");

/** The models of the simulator are the first ones there, because they show all of its faults. */
export const inOrder = <Model extends ModelEntry>(models: readonly Model[], mode: "test" | "live"): readonly Model[] => {
  const rank = ({ id }: Model) => (mode === "test" && id.startsWith("sim-") ? 0 : 1);
  return models.toSorted((a, b) => rank(a) - rank(b));
};

/** Models whose name, maker, id or tasks contain every word of the search, of a kind or of all (empty). */
export const matchModels = <Model extends ModelEntry>(models: readonly Model[], search: string, kind: string): Model[] => {
  const parts = search.toLowerCase().split(/\s+/).filter(Boolean);
  return models.filter((model) => {
    const text = `${model.id} ${model.name} ${model.maker ?? ""} ${model.tasks.join(" ")}`.toLowerCase();
    return (kind === "" || model.kind === kind) && parts.every((part) => text.includes(part));
  });
};
