// A signed-in user of the console who calls its API as a browser does and can sign in a real browser.
import { hashToken, newId, newToken } from "../../src/domain/ids.ts";
import type { JsonObject } from "../../src/domain/types.ts";
import type { UserRole } from "../../src/domain/user-mutations.ts";
import type { Harness } from "../harness.ts";

const COOKIE = "__Host-genrouter";
const DAY_MS = 86_400_000;
/** A hash in the stored format. Users of these tests sign in without a password. */
const PASSWORD = "$argon2id$v=19$m=65536,t=3,p=1$c2FsdHNhbHRzYWx0c2FsdA$bm9ib2R5IGtub3dzIGl0LCBub2JvZHkgbmVlZHMgaXQ";

/** The part of a Playwright context that receives the session. */
type CookieJar = {
  addCookies(
    cookies: { name: string; value: string; url: string; secure: true; httpOnly: true; sameSite: "Lax" }[],
  ): Promise<void>;
};
export type Reply = { status: number; headers: Headers; text: string; reported: JsonObject };
export type Visitor = {
  userId: string;
  email: string;
  cookie: string;
  csrf: string;
  /** Requests a path of the service as a page does. `reported` is empty if the response is not a JSON object. */
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  /** Signs in a browser context. */
  signIn(context: CookieJar): Promise<void>;
};

/** The headers of a browser on a page of the same origin. */
const asBrowser = (url: string) => ({ origin: url, "sec-fetch-site": "same-origin", "user-agent": "visitor of the tests" });

/** Sends a request with the given headers, or signed out without them. */
export const askConsole = async (
  { url }: Pick<Harness, "url">,
  [method, path, body]: readonly [method: string, path: string, body?: unknown],
  headers: Record<string, string> = {},
): Promise<Reply> => {
  const isRaw = typeof body === "string" || body instanceof Uint8Array;
  const sent = body === undefined ? {} : { body: (isRaw ? body : JSON.stringify(body)) as string };
  const type: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
  const response = await fetch(url + path, { method, headers: { ...asBrowser(url), ...type, ...headers }, ...sent });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  return { status: response.status, headers: response.headers, text, reported: isJson ? (JSON.parse(text) as JsonObject) : {} };
};

/**
 * Creates a user in a harness and signs in. `account`: the user's account, or null as operators and viewers may have. `address`:
 * in lower case; generated if omitted.
 */
export const openVisitor = async (
  harness: Pick<Harness, "url" | "components" | "clock">,
  role: UserRole,
  account: { accountSeq: number } | null,
  address?: string,
): Promise<Visitor> => {
  const [userId, token, link] = [newId("per"), newToken(), newToken()];
  const email = address ?? `${userId}@example.com`;
  const atMs = harness.clock.nowMs();
  const by = { kind: "command", id: "test", name: "test" } as const;
  const until = { hash: hashToken(link), expiresAtMs: atMs + DAY_MS, atMs };
  const invited = await harness.components.post({
    ...{ mutation: "invite", by, id: newId("inv"), kind: "invite", role, email, ...until },
    ...{ accountSeq: account?.accountSeq ?? null, accountName: null, userId: null },
  });
  const session = {
    ...{ id: newId("ses"), hash: hashToken(token), expiresAtMs: atMs + 30 * DAY_MS },
    ...{ agent: "visitor of the tests", address: "127.0.0.1" },
  };
  const accepted = await harness.components.post({
    ...{ mutation: "accept-invitation", hash: until.hash, userId, email, name: "Ada", password: PASSWORD },
    ...{ account: null, session, atMs },
  });
  if (invited.kind !== "done" || accepted.kind !== "done")
    throw new Error(`the invitation was not accepted: ${JSON.stringify([invited, accepted])}`);
  const cookie = `${COOKIE}=${token}`;
  const me = await askConsole(harness, ["GET", "/console/api/me"], { cookie });
  const { csrf } = (me.reported.signedIn ?? {}) as { csrf?: string };
  if (csrf === undefined) throw new Error(`the visitor is not signed in: ${me.status} ${me.text}`);
  return {
    ...{ userId, email, cookie, csrf },
    ask: (method, path, body, headers) =>
      askConsole(harness, [method, path, body], { cookie, ...(method === "GET" ? {} : { "x-csrf-token": csrf }), ...headers }),
    signIn: (context) =>
      context.addCookies([
        {
          name: COOKIE,
          value: token,
          url: harness.url.replace(/^http:/, "https:"),
          secure: true,
          httpOnly: true,
          sameSite: "Lax",
        },
      ]),
  };
};
