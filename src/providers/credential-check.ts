// Credential check: verifies a provider's credential without a purchase.
//
// The check requests the provider's list of jobs, or polls a job that does not exist.
import type { FailureClass } from "../domain/types.ts";
import { contextsOf } from "./list-all-pages.ts";
import { detailOf } from "./parse-response.ts";
import type { Adapter, AdapterContext, CheckOutcome, ListedRoute, ProviderRequest, ProviderResponse } from "./port.ts";
import type { ProviderClient } from "./provider-client.ts";

/** A job id in the UUID format that most providers use. No job has this id. */
const NO_JOB = "00000000-0000-4000-8000-000000000000";

const questionOf = ({ adapter }: ProviderClient, context: AdapterContext, nowMs: number): ProviderRequest | undefined => {
  if (adapter.list) return adapter.list(context, nowMs, null);
  try {
    return adapter.poll({ jobId: NO_JOB }, context);
  } catch {
    // Synchronous providers, and providers whose jobs are polled only at addresses from their responses, have no check.
    return undefined;
  }
};

type SetUpFault = Extract<FailureClass, "config_fault" | "balance">;
const BY_STATUS: Readonly<Record<number, SetUpFault>> = { 401: "config_fault", 402: "balance", 403: "config_fault" };

/**
 * Whether a failure concerns the whole provider account: its balance, an unknown key (401), or an error code that the dialect
 * maps to the account.
 */
export const isOfAccount = (
  adapter: Pick<Adapter, "isOfAccount">,
  r: ProviderResponse,
  phase: "submitting" | "asking",
  failureClass: FailureClass,
): boolean =>
  failureClass === "balance" ||
  (failureClass === "config_fault" && (r.status === 401 || adapter.isOfAccount?.(r, phase) === true));

/**
 * The configuration fault that a response reports. The provider's own error code has precedence, because some providers send it
 * with status 200 or 429.
 */
const setUpFault = (adapter: Pick<Adapter, "classOf">, r: ProviderResponse): SetUpFault | undefined => {
  const text = adapter.classOf?.(r);
  if (text === undefined) return BY_STATUS[r.status];
  return text === "config_fault" || text === "balance" ? text : undefined;
};

/**
 * The configuration fault of a response, and whether the fault concerns the whole account. Empty if the response reports no such
 * fault.
 */
export const setUpFaultOf = (adapter: Adapter, r: ProviderResponse): { fault?: SetUpFault; isOfAccount?: boolean } => {
  const fault = setUpFault(adapter, r);
  return fault === undefined ? {} : { fault, isOfAccount: isOfAccount(adapter, r, "asking", fault) };
};

export const checkKey = async (
  client: ProviderClient,
  route: ListedRoute,
  { nowMs, timeoutMs }: { nowMs: number; timeoutMs: number },
  signal: AbortSignal,
): Promise<CheckOutcome> => {
  const [context] = contextsOf(route, client.baseUrl);
  const question = context && questionOf(client, context, nowMs);
  if (question === undefined) return { kind: "none" };
  const called = await client.request(question, timeoutMs, signal);
  if (called.kind !== "answered") return { kind: "unclear", detail: called.detail };
  const { response } = called;
  const failure = setUpFault(client.adapter, response);
  const detail = detailOf(response.status, response.text.slice(0, 200));
  if (failure !== undefined) return { kind: "refused", failure: { class: failure, detail } };
  if (response.status >= 500 || response.status === 429 || client.adapter.classOf?.(response) === "rate_limited")
    return { kind: "unclear", detail };
  return { kind: "works", detail: client.adapter.list ? "its list of jobs was read" : "it answers about jobs" };
};
