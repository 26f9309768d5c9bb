// The trail of a request: who called and what came of it, as it becomes known on the way, for the request's line in the log.
import type { EventFields } from "../logging/events.ts";

export type Trail = Pick<EventFields, "account_id" | "key_id" | "generation_id" | "error_code" | "address">;

const trails = new WeakMap<Request, Trail>();
const NONE: Trail = {};

/** Adds what has become known. */
export const addTrail = (request: Request, more: Trail): void => {
  const known = trails.get(request);
  if (known === undefined) trails.set(request, more);
  else Object.assign(known, more);
};

export const trailOf = (request: Request): Trail => trails.get(request) ?? NONE;
