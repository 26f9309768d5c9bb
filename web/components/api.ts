// Client of the service's API for all pages, with CSRF token and errors as sentences.
import { signal } from "@preact/signals";
import type { MeView } from "../../src/console/users-dto.ts";
import { words } from "../words/words.ts";
import { notReached, reached } from "./connection.tsx";

/** Undefined until it is loaded. */
export const me = signal<MeView | undefined>(undefined);

/** An error response: one sentence with the fault and the remedy. `status` is 0 if the service could not be reached. */
export class Fault extends Error {
  readonly code: string;
  readonly status: number;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Whatever was thrown, as a sentence. */
export const errorText = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault));

type Options = { headers?: Record<string, string>; signal?: AbortSignal };

/** Requests a path of the API. @throws Fault */
export const call = async <T>(
  method: "GET" | "POST" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
  options: Options = {},
): Promise<T> => {
  const headers: Record<string, string> = { ...options.headers };
  if (body !== undefined) headers["content-type"] = "application/json";
  const csrf = me.value?.signedIn?.csrf;
  if (method !== "GET" && csrf !== undefined) headers["x-csrf-token"] = csrf;
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(options.signal ? { signal: options.signal } : {}),
    });
  } catch (fault) {
    if (options.signal?.aborted) throw fault;
    notReached();
    throw new Fault(0, "unreachable", words.api.unreachable);
  }
  reached();
  const answer: unknown = await response.json().catch(() => null);
  if (response.ok) return answer as T;
  const { code, message } = (answer as { error?: { code: string; message: string } } | null)?.error ?? {
    code: "unclear",
    message: words.api.status(response.status),
  };
  // The session has ended. The user signs in on the current page and then continues there.
  if (code === "signed_out" && me.value?.signedIn) me.value = { ...me.value, signedIn: null };
  throw new Fault(response.status, code, message);
};

/** Reloads the signed-in user. */
export const learnMe = async (): Promise<void> => {
  me.value = await call<MeView>("GET", "/console/api/me");
};
