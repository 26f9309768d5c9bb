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

const waited = new WeakMap<Request, number>();
/** Notes how long a request waited for the end of a generation, ms. It is no part of the duration of the request in metrics. */
export const addWaitedMs = (request: Request, ms: number): void => {
  waited.set(request, ms);
};
export const waitedMsOf = (request: Request): number => waited.get(request) ?? 0;
