// Asks the service: one way for every page, with the session's mark on what changes something, and every no as one sentence.
import { signal } from "@preact/signals";
import type { Role } from "../../src/console/request-context.ts";

/** Who is signed in here, as `GET /console/api/me` says. */
export type Me = {
  signedIn: {
    personId: string;
    email: string;
    name: string;
    role: Role;
    accountId: string | null;
    accountName: string | null;
    sessionId: string;
    csrf: string;
  } | null;
  /** Whether there is an operator yet. */
  isSetUp: boolean;
  signUp: boolean;
  simulated: boolean;
};

/** Undefined until it is known. */
export const me = signal<Me | undefined>(undefined);

/** A no of the service: what is wrong and what to do. `status` 0: it could not be reached. */
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

/** Asks for a path of the API. @throws Fault */
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
    throw new Fault(0, "unreachable", "The service cannot be reached; try again in a moment.");
  }
  const answer: unknown = await response.json().catch(() => null);
  if (response.ok) return answer as T;
  const { code, message } = (answer as { error?: { code: string; message: string } } | null)?.error ?? {
    code: "unclear",
    message: `The service answered ${response.status}; try again in a moment.`,
  };
  // The session is over: whatever page this is, its person signs in again and comes back to it.
  if (code === "signed_out" && me.value?.signedIn) me.value = { ...me.value, signedIn: null };
  throw new Fault(response.status, code, message);
};

/** Learns anew who is signed in. */
export const learnMe = async (): Promise<void> => {
  me.value = await call<Me>("GET", "/console/api/me");
};
