// Request context and errors of the console API.
import type { TSchema } from "@sinclair/typebox";
import type { Principal } from "../domain/mutations.ts";

/** `member`: access to one account. `operator`: full access. `viewer`: read access like an operator, without changes. */
export type Role = "member" | "operator" | "viewer";

/** The user of a session. Operators and viewers may have their own account too. */
export type SignedIn = {
  userSeq: number;
  userId: string;
  email: string;
  name: string;
  role: Role;
  accountSeq: number | null;
  accountId: string | null;
  sessionId: string;
};

export type ConsoleRequest = {
  request: Request;
  requestId: string;
  /** Path parameters by name, percent-decoded and not validated. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** The body, validated by the route's schema; undefined if the route has none. */
  body: unknown;
  who: SignedIn;
  /** Client address, for throttling, the list of sessions and the log. */
  address: string;
};
/** A request without authentication, such as sign-in or setup. `who` is set if the browser has a session anyway. */
export type PublicRequest = Omit<ConsoleRequest, "who"> & {
  who: SignedIn | null;
  /** Address of the socket, which may be that of a proxy. */
  peer: string | undefined;
};

type Method = "GET" | "POST" | "PATCH" | "DELETE";
/**
 * A path of the API, parameters written `:name`. `who` is the required access: `member` needs its own account, `viewer` reads the
 * operator pages, `operator` changes them. A returned object is sent as JSON with status 200.
 */
export type ConsoleRoute =
  | {
      method: Method;
      path: string;
      who: "user" | "member" | "viewer" | "operator";
      body?: TSchema;
      answer: (request: ConsoleRequest) => Promise<Response | object>;
    }
  | {
      method: Method;
      path: string;
      who: "anyone";
      body?: TSchema;
      answer: (request: PublicRequest) => Promise<Response | object>;
    };

/** Error codes of the console in addition to those of §7. */
export const CONSOLE_CODES = {
  not_found: 404,
  forbidden: 403,
  csrf: 403,
  insecure_origin: 403,
  invalid: 400,
  conflict: 409,
  throttled: 429,
  signed_out: 401,
  refused: 422,
  unavailable: 503,
} as const;
export type ConsoleCode = keyof typeof CONSOLE_CODES;

/** An error of the console: one sentence with the fault and the remedy. */
export class ConsoleRefused extends Error {
  override readonly name = "ConsoleRefused";
  readonly code: ConsoleCode;
  /** Seconds to wait, for `throttled`. */
  readonly retryAfterS: number | undefined;

  constructor(code: ConsoleCode, message: string, retryAfterS?: number) {
    super(message);
    this.code = code;
    this.retryAfterS = retryAfterS;
  }
}

/** The principal of a request, which is recorded with its changes. */
export const actorOf = ({ who }: { who: Pick<SignedIn, "userId" | "email"> }): Principal => ({
  kind: "user",
  id: who.userId,
  name: who.email,
});

/** Rejects a change by a user who may only read. */
export const forbid = (message: string): never => {
  throw new ConsoleRefused("forbidden", message);
};
