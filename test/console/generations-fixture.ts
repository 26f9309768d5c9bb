// Serves the generation endpoints of the console over HTTP with a real service; a cookie names the user.
import { Value } from "@sinclair/typebox/value";
import { createAccessAudit } from "../../src/console/access-audit.ts";
import { createFirstSteps } from "../../src/console/first-steps.ts";
import { submissionRoutes } from "../../src/console/generations-api.ts";
import { CONSOLE_CODES, ConsoleRefused, type ConsoleRoute, type Role, type SignedIn } from "../../src/console/request-context.ts";
import { ApiError } from "../../src/domain/api-errors.ts";
import type { Harness, Tenant } from "../harness.ts";

const matched = (pattern: string, path: string): Record<string, string> | undefined => {
  const [parts, sent] = [pattern.split("/"), path.split("/")];
  if (parts.length !== sent.length || !parts.every((part, at) => part.startsWith(":") || part === sent[at])) return undefined;
  return Object.fromEntries(parts.flatMap((part, at) => (part.startsWith(":") ? [[part.slice(1), sent[at] ?? ""]] : [])));
};

/** @param page serves every path outside the API */
export const openMakingStage = (
  harness: Harness,
  page: (path: string) => Promise<Response> | Response = () => new Response(null),
) => {
  const users = new Map<string, SignedIn>();
  /** Ends the session of the named user. */
  const signOut = (name: string) => void users.delete(name);
  const signIn = (name: string, role: Role, tenant: Pick<Tenant, "accountId" | "accountSeq"> | null) => {
    const { accountId = null, accountSeq = null } = tenant ?? {};
    users.set(name, {
      userSeq: 1,
      userId: `per_${name}`,
      email: `${name}@example.com`,
      name,
      role,
      accountId,
      accountSeq,
      sessionId: name,
    });
  };
  const nameOf = (request: Request) => /who=(\w+)/.exec(request.headers.get("cookie") ?? "")?.[1] ?? "";

  const { show } = createFirstSteps({ clock: harness.clock, reads: harness.store });
  const firstSteps: ConsoleRoute = { method: "GET", path: "/console/api/first-steps", who: "member", answer: show };
  const submissions = submissionRoutes({
    ...harness.components.generationService,
    hasInspector: harness.components.issueToken !== null,
    keepOpen: (request) => server.timeout(request, 0),
    post: harness.components.post,
    accessAudit: createAccessAudit({ clock: harness.clock, post: harness.components.post }),
    sessions: { cookieOf: nameOf, isStillIn: async (name, role) => users.get(name)?.role === role },
  });

  const routes = [...submissions, firstSteps];

  const answer = async (request: Request): Promise<Response> => {
    const { pathname, searchParams: query } = new URL(request.url);
    if (!pathname.startsWith("/console/api/")) return page(pathname);
    if (pathname === "/console/api/me") {
      const who = users.get(nameOf(request));
      return Response.json({
        signedIn: who ? { ...who, accountName: "Own", csrf: "x" } : null,
        isSetUp: true,
        signUp: false,
        simulated: true,
        inspector: false,
      });
    }
    try {
      for (const route of routes) {
        const params = route.method === request.method ? matched(route.path, pathname) : undefined;
        if (!params) continue;
        const who = users.get(nameOf(request));
        if (!who) throw new ConsoleRefused("signed_out", "Sign in.");
        if (route.who === "member" && who.accountId === null) throw new ConsoleRefused("forbidden", "No account.");
        const body: unknown = route.body ? await request.json() : undefined;
        if (route.body && !Value.Check(route.body, body)) throw new ConsoleRefused("invalid", "The body is wrong.");
        if (route.who === "anyone") continue;
        const made = await route.answer({ request, requestId: "req_stage", address: "", params, query, body, who });
        return made instanceof Response ? made : Response.json(made);
      }
      throw new ConsoleRefused("not_found", "There is no such page.");
    } catch (fault) {
      if (fault instanceof ConsoleRefused)
        return Response.json({ error: { code: fault.code, message: fault.message } }, { status: CONSOLE_CODES[fault.code] });
      if (fault instanceof ApiError)
        return Response.json({ error: { code: fault.code, message: fault.message } }, { status: fault.status });
      throw fault;
    }
  };
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, development: false, fetch: answer });
  const url = `http://127.0.0.1:${server.port}`;
  signIn("member", "member", harness.tenant);

  const ask = async <T>(
    method: string,
    path: string,
    more: { body?: unknown; as?: string; headers?: Record<string, string> } = {},
  ) => {
    const { body, as = "member", headers = {} } = more;
    const response = await fetch(`${url}/console/api${path}`, {
      method,
      headers: { cookie: `who=${as}`, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text || "null") as T };
  };
  return { url, ask, signIn, signOut, stop: () => server.stop(true) };
};
export type MakingStage = ReturnType<typeof openMakingStage>;
