// Serves the model list (§4.5), single models, and the JSON Schemas of their inputs.
import type { ModelEntry } from "../../../catalogue/public-model.ts";
import { memoize } from "../../collections/memoize.ts";
import { refuse } from "../../domain/api-errors.ts";
import { didYouMean } from "../../domain/suggestions.ts";
import type { JsonObject } from "../../domain/types.ts";
import { type Answer, answerPublic, type PublicJson, publicJson } from "../response.ts";

/** Returns the current list; `version` changes whenever the list may have changed. */
export type Models = () => { entries: readonly ModelEntry[]; version: number };

/** JSON Schema of a model's input; undefined for an unknown model and for one without a configured route. */
export type InputSchemaOf = (modelId: string) => JsonObject | undefined;

/** Short, because the health of routes changes the list. */
const MAX_AGE_S = 15;

/** Serves the list. Its bytes are cached per version, because serializing the list costs more than the rest of the request. */
export const modelList = (models: Models): Answer => {
  let printed: PublicJson | undefined;
  let printedVersion = Number.NaN;
  return (request, requestId) => {
    const { entries, version } = models();
    if (printed === undefined || version !== printedVersion) {
      printed = publicJson({ object: "list", data: entries }, MAX_AGE_S);
      printedVersion = version;
    }
    return answerPublic(printed, request, requestId);
  };
};

const unknownModel = (id: string, models: Models) => {
  const known = models().entries.map((entry) => entry.id);
  const message = "id: no model with this id is available; GET /v1/models lists those that are available now.";
  return refuse("not_found", `${message} ${didYouMean(id, known)}`.trim());
};

/**
 * Serves one entry of the list, GET /v1/models/{id}. @throws ApiError `model_unavailable` while all routes of the model are down,
 * as a submission does
 */
export const modelById = (models: Models, inputSchemaOf: InputSchemaOf): Answer => {
  const printed = memoize((entry: ModelEntry) => publicJson(entry, MAX_AGE_S));
  return (request, requestId, { id = "" }) => {
    const entry = models().entries.find((one) => one.id === id);
    if (entry) return answerPublic(printed(entry), request, requestId);
    if (inputSchemaOf(id) === undefined) return unknownModel(id, models);
    return refuse("model_unavailable", `id: every route of ${id} is down at the moment; try again shortly.`);
  };
};

/** Serves the JSON Schema of a model's input, GET /v1/models/{id}/schema, whatever the health of its routes. */
export const modelSchema = (models: Models, inputSchemaOf: InputSchemaOf): Answer => {
  const printed = memoize((schema: JsonObject) => publicJson(schema, MAX_AGE_S));
  return (request, requestId, { id = "" }) => {
    const schema = inputSchemaOf(id) ?? unknownModel(id, models);
    return answerPublic(printed(schema), request, requestId);
  };
};
