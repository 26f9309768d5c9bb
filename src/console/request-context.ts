// A request to the console's API as its answers see it: who asks, what for, and the ways to say no that only the console has.
import type { TSchema } from "@sinclair/typebox";
import type { Principal } from "../store/mutations.ts";

/** `member`: of one account. `operator`: of everything. `viewer`: sees what operators see and changes nothing. */
export type Role = "member" | "operator" | "viewer";

/** The person behind a session. Operators and viewers may have an account of their own, too. */
export type SignedIn = {
  personSeq: number;
  personId: string;
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
  /** Parts of the path by name, percent-decoded; unchecked. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** What the route's schema let through; undefined where it has none. */
  body: unknown;
  who: SignedIn;
  /** The caller's address, for throttling, the list of sessions, and the log. */
  address: string;
};
/** Asked by nobody that is known: signing in, setting up. `who` is there when the browser has a session all the same. */
export type PublicRequest = Omit<ConsoleRequest, "who"> & {
  who: SignedIn | null;
  /** That of the socket, whoever stands behind it. */
  peer: string | undefined;
};

type Method = "GET" | "POST" | "PATCH" | "DELETE";
/**
 * A path of the API, parameters written `:name`. `who`: the least that is needed; `member` has an account of their own, `viewer` sees the
 * operator's pages, `operator` changes them. An object that is answered leaves as JSON, 200.
 */
export type ConsoleRoute =
  | {
      method: Method;
      path: string;
      who: "person" | "member" | "viewer" | "operator";
      body?: TSchema;
      answer: (ask: ConsoleRequest) => Promise<Response | object>;
    }
  | { method: Method; path: string; who: "anyone"; body?: TSchema; answer: (ask: PublicRequest) => Promise<Response | object> };

/** Codes that the console has beside those of §7. */
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

/** A no of the console: one sentence that says what is wrong and what to do. */
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

/** Whoever asked, as it is written beside what they change. */
export const actorOf = ({ who }: { who: Pick<SignedIn, "personId" | "email"> }): Principal => ({
  kind: "person",
  id: who.personId,
  name: who.email,
});

/** Says that whoever asks may look and not change. */
export const forbid = (message: string): never => {
  throw new ConsoleRefused("forbidden", message);
};
