// The model list: GET /v1/models (§4.5) and the same bytes as the cacheable file /models.json.
import type { ModelEntry } from "../../../catalogue/public-model.ts";
import { type Answer, answerPublic, type PublicJson, publicJson } from "../response.ts";

/** The list at this moment; `version` changes whenever the list may have. */
export type Models = () => { entries: readonly ModelEntry[]; version: number };

/** Health of routes moves the list, so nobody should keep it for long. */
const MAX_AGE_S = 15;

/** Answers the list. Its bytes are made once per version: printing a list of models costs more than all else here. */
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
