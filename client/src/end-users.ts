// End users of the account: limits and spending.
import type { components, operations } from "./api.ts";
import { asJson, type CallOptions, type ClientEnvironment, sendRequest } from "./request.ts";

type Schemas = components["schemas"];
/** An end user with its limit, and what is spent, held and left in the window. */
export type EndUser = Schemas["EndUser"];
export type EndUserLimit = { limitUsd: number; window: NonNullable<EndUser["window"]> };
export type EndUserFilter = NonNullable<operations["listEndUsers"]["parameters"]["query"]>;

/** Calls about end users. They need a key without limits and without a list of models. */
export type EndUsers = {
  /** End users of the account, newest first. Each page is requested when the iteration reaches it. */
  list(filter?: EndUserFilter, options?: CallOptions): AsyncGenerator<EndUser, void, undefined>;
  get(id: string, options?: CallOptions): Promise<EndUser>;
  /** Sets the limit of an end user, who need not exist yet. */
  setLimit(id: string, limit: EndUserLimit, options?: CallOptions): Promise<EndUser>;
  /** Removes the limit; the spending stays. */
  removeLimit(id: string, options?: CallOptions): Promise<EndUser>;
};

/** @param bearer the headers that authorize a call. @param list iterates over the pages of a list */
export const createEndUsers = (
  world: ClientEnvironment,
  base: string,
  bearer: () => Record<string, string>,
  list: EndUsers["list"],
): EndUsers => {
  const call = async (id: string, init: RequestInit, { signal, tries, onRetry }: CallOptions): Promise<EndUser> => {
    const headers = { ...bearer(), ...(init.body === undefined ? {} : { "content-type": "application/json" }) };
    const url = `${base}/v1/end_users/${encodeURIComponent(id)}`;
    return sendRequest(world, { url, init: { ...init, headers }, signal, tries, onRetry }, asJson<EndUser>);
  };
  return {
    list,
    get: (id, options = {}) => call(id, {}, options),
    setLimit: (id, { limitUsd, window }, options = {}) =>
      call(id, { method: "PUT", body: JSON.stringify({ limit_usd: limitUsd, window }) }, options),
    removeLimit: (id, options = {}) => call(id, { method: "DELETE" }, options),
  };
};
