// An example input of a model, as the page of the model shows it.
import type { ModelEntry } from "../../../catalogue/public-model.ts";
import type { JsonObject, MediaKind } from "../../../src/domain/types.ts";
import { words } from "../../words/console-words.ts";
import { type FormField, fieldsOf } from "../playground/form.ts";

const ENDINGS: Readonly<Record<MediaKind, string>> = { image: "jpg", video: "mp4", audio: "mp3" };

const valueFor = ({ name, kind, option, media }: FormField) => {
  if (media !== null) {
    const link = `https://example.com/${media}.${ENDINGS[media]}`;
    return kind === "links" ? [link] : link;
  }
  if (option.values) return option.values[0] ?? null;
  if (kind === "range") return option.min ?? 0;
  return name === "prompt" ? words.modelPage.examplePrompt : "…";
};

/** The required fields of a model and its prompt. */
export const exampleInput = (model: ModelEntry): JsonObject =>
  Object.fromEntries(
    fieldsOf(model).flatMap((field) => {
      const isWanted = field.option.required === true || field.name === "prompt";
      return isWanted ? [[field.name, valueFor(field)]] : [];
    }),
  );

/** Whether the price of the example can be quoted: its links name no media that could be measured. */
export const isQuotable = (model: ModelEntry): boolean =>
  fieldsOf(model).every(({ option, media }) => media === null || option.required !== true);
