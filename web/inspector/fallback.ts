// Reads from the events of a generation why its last attempt was given up, and from its context which route is next.
import type { Json, JsonObject } from "../../src/domain/types.ts";
import type { ChosenActor, SeenEvent } from "../../src/inspector/dto.ts";
import { words } from "../words/inspector-words.ts";

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

type Reasons = Readonly<Record<string, string>>;
/** The failure class of an event says more than its type. Events without a reason end no attempt. */
export const reasonOf = ({ type, more }: Pick<SeenEvent, "type" | "more">): string | null => {
  const failure = isObject(more?.failure) ? String(more.failure.class) : "";
  return (words.inspector.failures as Reasons)[failure] ?? (words.inspector.failedEvents as Reasons)[type] ?? null;
};

export type Fallback = { attemptNo: number; route: string; reason: string };

/** The last event by which an attempt was given up for the next route, or by which the last attempt failed. */
export const lastFallbackOf = (events: readonly SeenEvent[]): Fallback | null => {
  const gaveUp = ({ from, to }: SeenEvent) => from !== null && from !== to && (to === "running.awaitingSlot" || to === "failed");
  const last = events.findLast((event) => gaveUp(event) && reasonOf(event) !== null);
  const attemptNo = Number(last?.more?.n);
  if (!last || !Number.isInteger(attemptNo)) return null;
  const begun = events.find(({ type, more }) => type === "begun" && more?.n === attemptNo);
  const spec = begun?.more?.spec;
  return { attemptNo, route: isObject(spec) ? String(spec.routeId) : "", reason: reasonOf(last) ?? "" };
};

/** The route of the next attempt; null if none is left, undefined if the generation has ended or its plan is not shown. */
export const nextRouteOf = (chosen: ChosenActor | null, state: string): string | null | undefined => {
  const { plan, nextRoute } = chosen?.context ?? {};
  if (state === "succeeded" || state === "failed" || !Array.isArray(plan)) return undefined;
  const route = plan[Number(nextRoute)];
  return isObject(route) ? String(route.routeId) : null;
};
