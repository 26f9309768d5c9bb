// Log context of a request: caller and result, collected while the request is processed.
import type { EventFields } from "../logging/events.ts";

export type RequestLogContext = Pick<EventFields, "account_id" | "key_id" | "generation_id" | "error_code" | "address">;

const trails = new WeakMap<Request, RequestLogContext>();
const NONE: RequestLogContext = {};

/** Adds fields to the log context. */
export const addLogContext = (request: Request, more: RequestLogContext): void => {
  const known = trails.get(request);
  if (known === undefined) trails.set(request, more);
  else Object.assign(known, more);
};

export const logContextOf = (request: Request): RequestLogContext => trails.get(request) ?? NONE;
