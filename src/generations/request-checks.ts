// Checks that a submission and a quote share: admission, key, model, input and media.

import type { Model } from "../../catalogue/schema.ts";
import { refuse } from "../domain/api-errors.ts";
import { didYouMean } from "../domain/suggestions.ts";
import type { Measured, PinRequest } from "../domain/types.ts";
import { pinsOf } from "../inputs/pinned-links.ts";
import { type CheckedInput, checkInput, checkMeasured } from "../quote/check-input.ts";
import { type Explanation, explainPlan } from "../quote/plan.ts";
import { priceRoutes } from "../quote/price.ts";
import type { OpenedInputs } from "./own-inputs.ts";
import type { SubmitDeps, SubmitRequest } from "./submit.ts";

export const OVERLOADED = "The service is overloaded; send the same request again with the same Idempotency-Key.";
const CLOSED = {
  restarting: "The service is starting or about to stop; send the same request again with the same Idempotency-Key.",
  busy: OVERLOADED,
} as const;

type ModelDeps = Pick<SubmitDeps, "catalogue" | "routeState">;

const isConfigured = ({ routeState }: ModelDeps, { routes }: Model): boolean =>
  routes.some((route) => routeState(route.id) !== "unconfigured");

const runnableIds = (deps: ModelDeps): string[] =>
  deps.catalogue().models.flatMap((model) => (isConfigured(deps, model) ? [model.id] : []));

/** Returns the model if it has a configured route. */
export const findRunnableModel = (
  deps: ModelDeps,
  { model: id, onlyRoute }: Pick<SubmitRequest, "model" | "onlyRoute">,
): Model | undefined => {
  const whole = deps.catalogue().model(id);
  const model =
    whole && onlyRoute !== undefined ? { ...whole, routes: whole.routes.filter((one) => one.id === onlyRoute) } : whole;
  return model && isConfigured(deps, model) ? model : undefined;
};

/** @throws ApiError `model_not_available` if the model has no configured route */
export const runnableModel = (deps: ModelDeps, request: Pick<SubmitRequest, "model" | "onlyRoute">): Model =>
  findRunnableModel(deps, request) ??
  refuse(
    "model_not_available",
    [
      `model: ${JSON.stringify(request.model.slice(0, 80))} is not available; GET /v1/models lists those that are.`,
      didYouMean(request.model, runnableIds(deps)),
    ]
      .join(" ")
      .trim(),
  );

/** A key can be restricted to some models. */
const requireAllowedModel = ({ caller: { models }, model }: Pick<SubmitRequest, "caller" | "model">): void => {
  if (models !== null && !models.includes(model))
    refuse("generation_not_enabled", `model: this key may generate with ${models.join(", ")} only; use another key or model.`);
};

/**
 * Checks a request before its links are opened.
 * @throws ApiError `restarting`, `busy`, `generation_not_enabled`, `model_not_available`, `invalid_input`
 */
export const checkRequest = (
  deps: ModelDeps & Pick<SubmitDeps, "admission" | "allowsHost"> & { ownFiles: Pick<SubmitDeps["ownFiles"], "isOwn"> },
  request: Pick<SubmitRequest, "caller" | "model" | "input" | "onlyRoute">,
): { model: Model; checked: CheckedInput } => {
  const admission = deps.admission();
  if (admission !== "open") refuse(admission, CLOSED[admission]);
  requireAllowedModel(request);
  const model = runnableModel(deps, request);
  return { model, checked: checkInput(model, request.input, deps.allowsHost, deps.ownFiles.isOwn) };
};

/** The inputs to pin before the first attempt. @throws ApiError `invalid_input` for a file that is known to be too large */
const pinned = (
  { isTrusting, mostBytes }: SubmitDeps["pins"],
  model: Model,
  { raw }: CheckedInput,
  measured: readonly Measured[],
): PinRequest[] => {
  if (isTrusting || measured.length === 0) return [];
  const pins = pinsOf(model, raw, measured);
  for (const { field, bytes = 0 } of measured)
    if (bytes > mostBytes && pins.some((pin) => pin.field === field))
      refuse("invalid_input", `${field}: the file has ${bytes} bytes; at most ${mostBytes} are taken (media.pin_bytes)`);
  return pins;
};

/** Checks measured media. @returns the inputs to pin. @throws ApiError `invalid_input` */
export const checkMedia = (
  deps: Pick<SubmitDeps, "pins">,
  model: Model,
  checked: CheckedInput,
  { measured, files }: OpenedInputs,
): PinRequest[] => {
  checkMeasured(model, checked, measured);
  const foreign = measured.filter(({ url }) => !files.has(url));
  return pinned(deps.pins, model, checked, foreign);
};

/** Prices and plans a checked request. @returns the verdict on every route, with the plan or its refusal */
export const explainRequest = (
  { routeState, expectedMs, cannotGive }: Pick<SubmitDeps, "routeState" | "expectedMs" | "cannotGive">,
  { maxCostCredits, maxWaitMs }: Pick<SubmitRequest, "maxCostCredits" | "maxWaitMs">,
  model: Model,
  checked: CheckedInput,
  measured: readonly Measured[],
): Explanation => {
  const limits = { maxCostCredits, maxWaitMs, routeState, expectedMs, ...(cannotGive ? { cannotGive } : {}) };
  return explainPlan({ model, checked, measured, prices: priceRoutes(model, checked, measured), ...limits });
};
