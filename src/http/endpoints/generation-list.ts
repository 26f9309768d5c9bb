// Serves the list of generations, GET /v1/generations.
import { refuse } from "../../domain/api-errors.ts";
import { GENERATION_STATUSES } from "../../domain/types.ts";
import type { ListGenerations } from "../../generations/list.ts";
import type { AuthenticatedHandler } from "../auth.ts";
import { isMetadataMember, metadataIn } from "../labels.ts";
import { integerIn, LIST_LIMIT, queryOf, readQuery, timeIn, wordIn } from "../query.ts";
import { cancellationJson, type LinkTo } from "../resource.ts";
import { answerJson } from "../response.ts";

const MEMBERS = ["limit", "after", "status", "model", "created_after", "created_before"] as const;
const MODEL = /^[a-z0-9][a-z0-9._-]{0,79}$/;

/** The id of a model, which may have left the catalogue; null if absent. */
const modelIn = (value: string | undefined): string | null => {
  if (value === undefined) return null;
  return MODEL.test(value) ? value : refuse("invalid_request", "model: must be the id of a model, as in GET /v1/models.");
};

export const generationList =
  (list: ListGenerations, linkTo: LinkTo): AuthenticatedHandler =>
  async (request, requestId, caller) => {
    const members = readQuery(request, MEMBERS, isMetadataMember);
    const { generations, next } = await list({
      caller,
      limit: integerIn("limit", members.limit, LIST_LIMIT),
      after: members.after ?? null,
      status: wordIn("status", members.status, GENERATION_STATUSES),
      model: modelIn(members.model),
      createdAfterMs: timeIn("created_after", members.created_after),
      createdBeforeMs: timeIn("created_before", members.created_before),
      metadata: metadataIn(queryOf(request)),
    });
    const data = generations.map((one) => cancellationJson(one, linkTo)).join(",");
    const json = `{"object":"list","data":[${data}],"has_more":${next !== null},"next":${JSON.stringify(next)}}`;
    return answerJson(200, json, requestId);
  };
