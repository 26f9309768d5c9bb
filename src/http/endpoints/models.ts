// Serves the model list: GET /v1/models (§4.5) and the same bytes as /models.json.
import type { ModelEntry } from "../../../catalogue/public-model.ts";
import { type Answer, answerPublic, type PublicJson, publicJson } from "../response.ts";

/** Returns the current list; `version` changes whenever the list may have changed. */
export type Models = () => { entries: readonly ModelEntry[]; version: number };

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
