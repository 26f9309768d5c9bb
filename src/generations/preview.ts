// Previews the quote and the plan of a request for a form, without submitting it.
import { CLIP_FIELDS, type ClipField } from "../../catalogue/fields.ts";
import type { Model } from "../../catalogue/schema.ts";
import { checkInput } from "../quote/check-input.ts";
import { type Explanation, explainPlan } from "../quote/plan.ts";
import { priceRoutes } from "../quote/price.ts";
import { runnableModel, type SubmitDeps, type SubmitRequest } from "./submit.ts";

/**
 * `timedBy`: input fields whose media length determines the price. A preview opens no link, so lengths are neither measured nor
 * checked; a submission does both.
 */
export type Quoted = { model: Model; explanation: Explanation; timedBy: ClipField[] };
/** @throws ApiError as the submission would, up to the plan */
export type Quote = (order: Pick<SubmitRequest, "model" | "input" | "maxCostCredits" | "maxWaitMs">) => Quoted;

export const createPreview =
  (
    deps: Pick<SubmitDeps, "catalogue" | "routeState" | "expectedMs" | "allowsHost" | "canGive"> & {
      ownFiles: Pick<SubmitDeps["ownFiles"], "isOwn">;
    },
  ): Quote =>
  ({ maxCostCredits, maxWaitMs, ...order }) => {
    const model = runnableModel(deps, order);
    const checked = checkInput(model, order.input, deps.allowsHost, deps.ownFiles.isOwn);
    const { routeState, expectedMs, canGive } = deps;
    const limits = { maxCostCredits, maxWaitMs, routeState, expectedMs, ...(canGive ? { canGive } : {}) };
    const timedBy = CLIP_FIELDS.filter((name) => Object.hasOwn(checked.raw, name) && model.price.clips[name] !== undefined);
    const prices = priceRoutes(model, checked, []);
    return { model, timedBy, explanation: explainPlan({ model, checked, measured: [], prices, ...limits }) };
  };
