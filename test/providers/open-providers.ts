// Creates the providers for tests over real sockets, with a credential that is easy to search for.
import { createProviders, type ProvidersOptions } from "../../src/providers/providers.ts";
import { taskFor } from "./task.ts";

export const KEY = "s3cr3t-0123456789";
/** A signal that is never aborted. */
export const never = new AbortController().signal;

export const open = (base: { fal?: string; replicate?: string }, more: Partial<ProvidersOptions> = {}) =>
  createProviders({
    settings: Object.fromEntries(Object.entries(base).map(([id, base_url]) => [id, { base_url, key: KEY }])),
    isOwned: () => Promise.resolve(false),
    timeouts: { submitMs: 3_000, pollMs: 3_000, findMs: 3_000, cancelMs: 3_000 },
    ...more,
  });

/** A task with a composed and stored request. */
export const ready = (providers: ReturnType<typeof open>, request: Parameters<typeof taskFor>[0]) =>
  taskFor({ ...request, request: providers.compose(taskFor(request)) });
