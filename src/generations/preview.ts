// What a request would cost and run on, without submitting it: the corridor's own checks and plan, for a form that is being filled in.
import { CLIP_FIELDS, type ClipField } from "../../catalogue/fields.ts";
import type { Model } from "../../catalogue/schema.ts";
import { checkInput } from "../quote/check-input.ts";
import { type Explanation, explainPlan } from "../quote/plan.ts";
import { priceRoutes } from "../quote/price.ts";
import { runnableModel, type SubmitDeps, type SubmitRequest } from "./submit.ts";

/**
 * `timedBy`: fields of clips whose lengths decide on the price. Nothing is opened for a price, so it is not known where there are any, and
 * lengths are not checked: a submission does both.
 */
export type Quoted = { model: Model; explanation: Explanation; timedBy: ClipField[] };
/** @throws Refusal as the submission would, up to the plan */
export type Quote = (order: Pick<SubmitRequest, "model" | "input" | "maxCostCredits" | "maxWaitMs">) => Quoted;

export const createPreview =
  (deps: Pick<SubmitDeps, "catalogue" | "routeState" | "expectedMs" | "allowsHost" | "canGive">): Quote =>
  ({ maxCostCredits, maxWaitMs, ...order }) => {
    const model = runnableModel(deps, order);
    const checked = checkInput(model, order.input, deps.allowsHost);
    const { routeState, expectedMs, canGive } = deps;
    const limits = { maxCostCredits, maxWaitMs, routeState, expectedMs, ...(canGive ? { canGive } : {}) };
    const timedBy = CLIP_FIELDS.filter((name) => Object.hasOwn(checked.raw, name) && model.price.clips[name] !== undefined);
    const prices = priceRoutes(model, checked, []);
    return { model, timedBy, explanation: explainPlan({ model, checked, measured: [], prices, ...limits }) };
  };
