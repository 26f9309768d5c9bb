// A visitor of the console: calls its API over HTTP as a page does, and keeps the cookie and the CSRF token.
import { expect } from "bun:test";
import { hashToken, newId } from "../../src/domain/ids.ts";
import type { UserRole } from "../../src/domain/user-mutations.ts";
import type { Harness } from "../harness.ts";

export const PASSWORD = "correct horse battery";

export type Heard = { status: number; headers: Headers; body: Record<string, unknown>; text: string };
export type Visitor = {
  readonly cookie: string | null;
  readonly csrf: string | null;
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Heard>;
  /** Expects 200. */
  ok(method: string, path: string, body?: unknown): Promise<Heard["body"]>;
  /** Expects an error and returns its code. */
  no(method: string, path: string, body?: unknown): Promise<string>;
};

type Where = Pick<Harness, "url">;

/** A visitor who is not signed in. A response that signs in is remembered. */
export const visit = ({ url }: Where, from: { cookie?: string | null } = {}): Visitor => {
  let cookie: string | null = from.cookie ?? null;
  let csrf: string | null = null;
  const ask: Visitor["ask"] = async (method, path, body, headers = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        origin: url,
        ...(cookie === null ? {} : { cookie }),
        ...(csrf === null ? {} : { "x-csrf-token": csrf }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    // Only session cookies: a visitor is a browser without earlier sessions.
    const session = response.headers.getSetCookie().find((line) => line.startsWith("__Host-genrouter="));
    if (session !== undefined) cookie = /=[^;]/.test(session) ? (session.split(";")[0] ?? null) : null;
    const reported = JSON.parse(text === "" ? "null" : text) as Heard["body"] & { signedIn?: { csrf: string } | null };
    if (reported?.signedIn !== undefined) csrf = reported.signedIn?.csrf ?? null;
    return { status: response.status, headers: response.headers, body: reported, text };
  };
  return {
    get cookie() {
      return cookie;
    },
    get csrf() {
      return csrf;
    },
    ask,
    ok: async (method, path, body) => {
      const { status, body: reported } = await ask(method, path, body);
      expect([method, path, status, status === 200 ? null : reported]).toEqual([method, path, 200, null]);
      return reported;
    },
    no: async (method, path, body) => {
      const { status, body: reported } = await ask(method, path, body);
      expect(status).toBeGreaterThanOrEqual(400);
      return (reported.error as { code: string }).code;
    },
  };
};

/** The first operator, created by a set-up link. */
export const setUp = async (harness: Harness, email = "ada@example.com"): Promise<Visitor> => {
  const ada = visit(harness);
  await ada.ok("POST", "/console/api/link/accept", { token: await setUpToken(harness), email, name: "Ada", password: PASSWORD });
  return ada;
};

/** A set-up link as the service creates it at its start. */
export const setUpToken = async ({ components, clock }: Harness): Promise<string> => {
  const token = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
  const outcome = await components.post({
    ...{ mutation: "invite", id: newId("inv"), hash: hashToken(token), kind: "setup", role: "operator" },
    ...{ accountSeq: null, accountName: null, email: null, userId: null },
    ...{ expiresAtMs: clock.nowMs() + 1_800_000, atMs: clock.nowMs() },
  });
  expect(outcome.kind).toBe("done");
  return token;
};

export const tokenOf = (url: unknown): string => String(url).split("#")[1] ?? "";

/** A user who accepts the invitation of an operator: a member of an account, or an operator or viewer. */
export const join = async (
  harness: Harness,
  operator: Visitor,
  who: { email: string; role: UserRole; accountId?: string },
): Promise<Visitor> => {
  const { url } = await operator.ok("POST", "/console/api/operator/invitations", {
    ...{ email: who.email, role: who.role, accountId: who.accountId ?? null },
    accountName: who.role === "member" && who.accountId === undefined ? "Their own" : null,
  });
  const visitor = visit(harness);
  await visitor.ok("POST", "/console/api/link/accept", { token: tokenOf(url), name: "Ben", password: PASSWORD });
  return visitor;
};
