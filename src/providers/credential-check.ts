// Whether a provider takes our key, found out for nothing: its list of jobs is asked for, or a job that does not exist.
import type { FailureClass } from "../domain/types.ts";
import { contextsOf } from "./list-all-pages.ts";
import { detailOf } from "./parse-response.ts";
import type { Adapter, AdapterContext, CheckOutcome, ListedRoute, ProviderRequest, ProviderResponse } from "./port.ts";
import type { ProviderClient } from "./provider-client.ts";

/** In the form that most providers' ids have; nobody made it. */
const NO_JOB = "00000000-0000-4000-8000-000000000000";

const questionOf = ({ adapter }: ProviderClient, context: AdapterContext, nowMs: number): ProviderRequest | undefined => {
  if (adapter.list) return adapter.list(context, nowMs, null);
  try {
    return adapter.poll({ jobId: NO_JOB }, context);
  } catch {
    // A provider that answers at once, or whose jobs are only asked about at addresses that it gave.
    return undefined;
  }
};

type SetUpFault = Extract<FailureClass, "config_fault" | "balance">;
const BY_STATUS: Readonly<Record<number, SetUpFault>> = { 401: "config_fault", 402: "balance", 403: "config_fault" };

/** Of the whole account are its balance, a key that is not known, and what the provider's own code says so of. */
export const isOfAccount = (
  adapter: Pick<Adapter, "isOfAccount">,
  r: ProviderResponse,
  phase: "submitting" | "asking",
  failureClass: FailureClass,
): boolean =>
  failureClass === "balance" ||
  (failureClass === "config_fault" && (r.status === 401 || adapter.isOfAccount?.(r, phase) === true));

/** What an answer says of the operator's set-up: the provider's own code first, for some say it with a 200 or a 429. */
const setUpFault = (adapter: Pick<Adapter, "classOf">, r: ProviderResponse): SetUpFault | undefined => {
  const said = adapter.classOf?.(r);
  if (said === undefined) return BY_STATUS[r.status];
  return said === "config_fault" || said === "balance" ? said : undefined;
};

/** The same, and whether it is of the whole account; nothing where it says nothing. */
export const setUpFaultOf = (adapter: Adapter, r: ProviderResponse): { fault?: SetUpFault; isOfAccount?: boolean } => {
  const fault = setUpFault(adapter, r);
  return fault === undefined ? {} : { fault, isOfAccount: isOfAccount(adapter, r, "asking", fault) };
};

export const checkKey = async (
  desk: ProviderClient,
  route: ListedRoute,
  { nowMs, timeoutMs }: { nowMs: number; timeoutMs: number },
  signal: AbortSignal,
): Promise<CheckOutcome> => {
  const [context] = contextsOf(route, desk.baseUrl);
  const question = context && questionOf(desk, context, nowMs);
  if (question === undefined) return { kind: "none" };
  const called = await desk.ask(question, timeoutMs, signal);
  if (called.kind !== "answered") return { kind: "unclear", detail: called.detail };
  const { response } = called;
  const failure = setUpFault(desk.adapter, response);
  const detail = detailOf(response.status, response.text.slice(0, 200));
  if (failure !== undefined) return { kind: "refused", failure: { class: failure, detail } };
  if (response.status >= 500 || response.status === 429 || desk.adapter.classOf?.(response) === "rate_limited")
    return { kind: "unclear", detail };
  return { kind: "works", detail: desk.adapter.list ? "its list of jobs was read" : "it answers about jobs" };
};
