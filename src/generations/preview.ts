// Previews the price and the plan of a request for a form, without opening its links.
import { CLIP_FIELDS, type ClipField } from "../../catalogue/fields.ts";
import type { Model } from "../../catalogue/schema.ts";
import { checkInput } from "../quote/check-input.ts";
import type { Explanation } from "../quote/plan.ts";
import { explainRequest, runnableModel } from "./request-checks.ts";
import type { SubmitDeps, SubmitRequest } from "./submit.ts";

/**
 * `timedBy`: input fields whose media length determines the price. A preview opens no link, so lengths are neither measured nor
 * checked; a quote and a submission do both.
 */
export type Previewed = { model: Model; explanation: Explanation; timedBy: ClipField[] };
/** @throws ApiError as the submission would, up to the plan */
export type Preview = (order: Pick<SubmitRequest, "model" | "input" | "maxCostCredits" | "maxWaitMs">) => Previewed;

export const createPreview =
  (
    deps: Pick<SubmitDeps, "catalogue" | "routeState" | "expectedMs" | "allowsHost" | "cannotGive"> & {
      ownFiles: Pick<SubmitDeps["ownFiles"], "isOwn">;
    },
  ): Preview =>
  (order) => {
    const model = runnableModel(deps, order);
    const checked = checkInput(model, order.input, deps.allowsHost, deps.ownFiles.isOwn);
    const timedBy = CLIP_FIELDS.filter((name) => Object.hasOwn(checked.raw, name) && model.price.clips[name] !== undefined);
    return { model, timedBy, explanation: explainRequest(deps, order, model, checked, []) };
  };
