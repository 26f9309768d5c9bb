// The draft of the playground: models, field texts and choices, stored in this browser for each user.
//
// It outlives a change of the model, a reload and a sign-in. The texts of fields that the current model lacks are kept, so that
// they are there again for a model that has them.
import type { ModelEntry } from "../../../catalogue/public-model.ts";
import { me } from "../../components/api.ts";
import { fieldsOf, lengthOf, linksIn, startValues, type Values } from "./form.ts";

export type Draft = {
  /** The model of the form first, then the models that it is compared with. */
  models: readonly string[];
  values: Values;
  /** Number of generations of each submission. */
  variants: number;
  /** The seed stays the same after a submission. */
  isSeedLocked: boolean;
};
export type Remembered = { favourites: readonly string[]; recent: readonly string[] };

export const MOST_VARIANTS = 4;
export const MOST_MODELS = 4;
const MOST_RECENT = 6;

const keyOf = (name: string): string => `genrouter.${name}.${me.value?.signedIn?.email ?? ""}`;
const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every((one) => typeof one === "string");

const stored = (name: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(keyOf(name)) ?? "null");
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
};
const store = (name: string, value: unknown): void => {
  try {
    localStorage.setItem(keyOf(name), JSON.stringify(value));
  } catch {
    // Without local storage the draft lasts until the page is closed.
  }
};

export const readDraft = (): Draft => {
  const { models, values, variants, isSeedLocked } = stored("draft");
  const texts = typeof values === "object" && values !== null ? Object.entries(values) : [];
  const isCount = typeof variants === "number" && variants >= 1 && variants <= MOST_VARIANTS;
  return {
    models: isTexts(models) ? models.slice(0, MOST_MODELS) : [],
    values: Object.fromEntries(texts.filter((entry): entry is [string, string] => typeof entry[1] === "string")),
    variants: isCount ? Math.floor(variants) : 1,
    isSeedLocked: isSeedLocked === true,
  };
};
export const storeDraft = (draft: Draft): void => store("draft", draft);

export const readRemembered = (): Remembered => {
  const { favourites, recent } = stored("models");
  return { favourites: isTexts(favourites) ? favourites : [], recent: isTexts(recent) ? recent : [] };
};
export const withFavourite = (known: Remembered, id: string): Remembered => {
  const { favourites } = known;
  const next = { ...known, favourites: favourites.includes(id) ? favourites.filter((one) => one !== id) : [...favourites, id] };
  store("models", next);
  return next;
};
export const withRecent = (known: Remembered, id: string): Remembered => {
  const next = { ...known, recent: [id, ...known.recent.filter((one) => one !== id)].slice(0, MOST_RECENT) };
  store("models", next);
  return next;
};

/** Whether a field of the model takes a text that was entered for another model. */
const takes = ({ kind, option }: ReturnType<typeof fieldsOf>[number], text: string): boolean => {
  if (kind === "choice") return (option.values ?? []).some((value) => String(value) === text);
  if (kind === "range") return Number(text) >= (option.min ?? -Infinity) && Number(text) <= (option.max ?? Infinity);
  if (kind === "text") return lengthOf(text) <= (option.max_length ?? Infinity);
  return linksIn(text).length <= (option.max_items ?? 1);
};

/** The texts of a draft that the model takes, over its defaults. */
export const valuesFor = (model: ModelEntry, texts: Values): Values => {
  const values: Record<string, string> = { ...startValues(model) };
  for (const field of fieldsOf(model)) {
    const text = texts[field.name];
    if (text !== undefined && text.trim() !== "" && takes(field, text)) values[field.name] = text;
  }
  // A later field yields to an earlier one that it cannot be combined with.
  for (const { name, option } of fieldsOf(model))
    if (values[name]?.trim()) for (const other of option.excludes ?? []) if (values[other]) delete values[other];
  return values;
};
