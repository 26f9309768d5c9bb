// Cancels a generation: POST /v1/generations/{id}/cancel.
import { refuse } from "../../domain/api-errors.ts";
import type { Cancel } from "../../generations/cancel.ts";
import type { AuthenticatedHandler } from "../auth.ts";
import { parseJson, readBody } from "../body.ts";
import { addLogContext } from "../request-log-context.ts";
import { cancellationJson, type LinkTo } from "../resource.ts";
import { answerJson } from "../response.ts";

/** @throws ApiError `invalid_request` for a body other than none and `{}` */
const requireNoMembers = async (request: Request): Promise<void> => {
  const bytes = await readBody(request);
  if (bytes.byteLength === 0) return;
  const { value } = parseJson(bytes);
  if (typeof value !== "object" || value === null || Array.isArray(value) || Object.keys(value).length > 0)
    refuse("invalid_request", "The body of a cancel request must be empty or {}.");
};

/** 200 with the generation, also if it was cancelled before. */
export const cancellation =
  (cancel: Cancel, linkTo: LinkTo): AuthenticatedHandler =>
  async (request, requestId, caller, { id = "" }) => {
    await requireNoMembers(request);
    const cancelled = await cancel(id, caller);
    addLogContext(request, { generation_id: cancelled.record.id });
    return answerJson(200, cancellationJson(cancelled, linkTo), requestId);
  };
