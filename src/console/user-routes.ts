// Endpoints of the console API for users: sign-in, links, sessions, profile and user administration.
import { type Static, Type } from "@sinclair/typebox";
import { MAX_PASSWORD_CHARS } from "../domain/user-mutations.ts";
import type { ConsoleDeps } from "./console.ts";
import type { Devices } from "./known-devices.ts";
import { createPasswords } from "./passwords.ts";
import { createRejectedSignIns } from "./rejected-sign-ins.ts";
import { actorOf, type ConsoleRequest, type ConsoleRoute, type PublicRequest } from "./request-context.ts";
import { createUserService, type OpenedSession, type SignInRequest } from "./user-service.ts";
import type { CreatedInvitationView, UsersView } from "./users-dto.ts";

const object = <P extends Parameters<typeof Type.Object>[0]>(members: P) => Type.Object(members, { additionalProperties: false });
const email = Type.String({ minLength: 1, maxLength: 300 });
const name = Type.String({ minLength: 1, maxLength: 100 });
// Only bounds the work. The user service reports the actual limit of the length.
const password = Type.String({ maxLength: 4 * MAX_PASSWORD_CHARS });
const token = Type.String({ pattern: "^[0-9A-Za-z_-]{43}$" });
const role = Type.Union([Type.Literal("member"), Type.Literal("operator"), Type.Literal("viewer")]);
const orNull = <S extends ReturnType<typeof Type.String>>(schema: S) => Type.Union([schema, Type.Null()]);

const SIGN_IN = object({ email, password });
const LINK = object({ token });
const ACCEPT = object({ token, password, email: Type.Optional(email), name: Type.Optional(name) });
const SIGN_UP = object({ email, name, password });
const RENAME = object({ name });
const PASSWORD = object({ old: password, password });
const INVITE = object({ email, role, accountId: orNull(Type.String({ maxLength: 80 })), accountName: orNull(name) });
const USER = Type.Partial(object({ role, disabled: Type.Boolean() }), { additionalProperties: false, minProperties: 1 });

const JSON_HEADERS = { "content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff" };

export const userRoutes = (deps: ConsoleDeps, devices: Devices): ConsoleRoute[] => {
  const { settings, log, reads, post, clock, sessions, admin: openAdmin } = deps;
  const passwords = createPasswords(deps.passwordCost);
  const refused = createRejectedSignIns({ log, clock, post });
  const service = createUserService({
    ...{ reads, post, clock, sessions, passwords, devices, refused },
    signUp: settings.console.sign_up,
    hasInspector: deps.issueToken !== null,
  });
  const publicUrl = settings.server.public_url.replace(/\/$/, "");

  const withCookies = (body: object, ...cookies: string[]): Response => {
    const headers = new Headers(JSON_HEADERS);
    for (const cookie of cookies) headers.append("set-cookie", cookie);
    return new Response(JSON.stringify(body), { headers });
  };
  const signInRequestOf = ({ request, address, requestId }: PublicRequest | ConsoleRequest): SignInRequest => ({
    request,
    address,
    requestId,
  });
  /** The former session of the browser ends, so that no session token outlives a sign-in. */
  const letIn = async (request: PublicRequest, come: Promise<OpenedSession>): Promise<Response> => {
    const made = await come;
    if (request.who) await service.end(request.who, { onlyId: request.who.sessionId }).catch(() => undefined);
    const who = await sessions.find(made.token);
    const { token, userId } = made;
    log("signed in", { outcome: "succeeded", user_id: userId, request_id: request.requestId });
    return withCookies(await service.me(who, token), sessions.setCookie(token), devices.setCookie(request.request, userId));
  };
  const signedOut = (): Response => withCookies({ signedIn: null }, sessions.clearCookie());
  const linkView = (
    { request }: ConsoleRequest,
    made: { id: string; path: string; expiresAtMs: number },
  ): CreatedInvitationView => {
    const own = `http://${request.headers.get("host")}`;
    return {
      id: made.id,
      url: `${publicUrl || request.headers.get("origin") || own}${made.path}`,
      expiresAtMs: made.expiresAtMs,
    };
  };

  const own: ConsoleRoute[] = [
    {
      method: "GET",
      path: "/console/api/me",
      who: "anyone",
      // Marks the browser of a session that predates the marks or has lost its mark.
      answer: async ({ request, who }) => {
        const view = await service.me(who, sessions.cookieOf(request));
        const isUnmarked = who !== null && devices.nameOf(request, who.userId) === null;
        return isUnmarked ? withCookies(view, devices.setCookie(request, who.userId)) : view;
      },
    },
    {
      method: "POST",
      path: "/console/api/session",
      who: "anyone",
      body: SIGN_IN,
      answer: (request) => letIn(request, service.signIn(signInRequestOf(request), request.body as Static<typeof SIGN_IN>)),
    },
    {
      method: "POST",
      path: "/console/api/link",
      who: "anyone",
      body: LINK,
      answer: ({ body }) => service.look((body as Static<typeof LINK>).token),
    },
    {
      method: "POST",
      path: "/console/api/link/accept",
      who: "anyone",
      body: ACCEPT,
      answer: (request) =>
        letIn(
          request,
          service.accept(signInRequestOf(request), { email: "", name: "", ...(request.body as Static<typeof ACCEPT>) }),
        ),
    },
    {
      method: "POST",
      path: "/console/api/sign-up",
      who: "anyone",
      body: SIGN_UP,
      answer: (request) => letIn(request, service.signUp(signInRequestOf(request), request.body as Static<typeof SIGN_UP>)),
    },
    {
      method: "DELETE",
      path: "/console/api/session",
      who: "user",
      answer: async ({ who }) => {
        await service.end(who, { onlyId: who.sessionId });
        return signedOut();
      },
    },
    { method: "GET", path: "/console/api/team", who: "member", answer: ({ who }) => service.team(who) },
    {
      method: "GET",
      path: "/console/api/sessions",
      who: "user",
      answer: async ({ who }) => ({ sessions: await service.sessions(who) }),
    },
    {
      method: "DELETE",
      path: "/console/api/sessions",
      who: "user",
      answer: async ({ who, query }) => {
        const keeps = query.get("keep") === "this";
        await service.end(who, keeps ? { exceptId: who.sessionId } : {});
        return keeps ? { sessions: await service.sessions(who) } : signedOut();
      },
    },
    {
      method: "DELETE",
      path: "/console/api/sessions/:id",
      who: "user",
      answer: async ({ who, params }) => {
        await service.end(who, { onlyId: params.id ?? "" });
        return params.id === who.sessionId ? signedOut() : { sessions: await service.sessions(who) };
      },
    },
    {
      method: "PATCH",
      path: "/console/api/me",
      who: "user",
      body: RENAME,
      answer: async ({ who, body, request }) => {
        await service.rename(who, (body as Static<typeof RENAME>).name);
        const sent = sessions.cookieOf(request);
        return service.me(sent === null ? null : await sessions.find(sent), sent);
      },
    },
    {
      method: "POST",
      path: "/console/api/me/password",
      who: "user",
      body: PASSWORD,
      answer: async (request) => {
        const { who, body } = request;
        await service.changePassword(who, signInRequestOf(request), body as Static<typeof PASSWORD>);
        return { sessions: await service.sessions(who) };
      },
    },
  ];

  const users = async ({ who }: ConsoleRequest): Promise<UsersView> => {
    const { users: rows, invitations } = await (await openAdmin()).listUsers({});
    return {
      users: rows.map(({ seq: _s, accountSeq: _a, ...user }) => user),
      invitations: invitations.map(({ userId: _p, userName: _n, usedAtMs: _u, withdrawnAtMs: _w, ...row }) => row),
      accounts: (await reads.accounts()).map((account) => ({ id: account.id, name: account.name })),
      mayChange: who.role === "operator",
    };
  };
  const path = "/console/api/operator/users";
  return [
    ...own,
    { method: "GET", path, who: "viewer", answer: users },
    {
      method: "POST",
      path: "/console/api/operator/invitations",
      who: "operator",
      body: INVITE,
      answer: async (request) =>
        linkView(
          request,
          await (await openAdmin()).inviteUser({ ...(request.body as Static<typeof INVITE>), by: actorOf(request) }),
        ),
    },
    {
      method: "DELETE",
      path: "/console/api/operator/invitations/:id",
      who: "operator",
      answer: async (request) => {
        await (await openAdmin()).withdrawInvitation({ id: request.params.id ?? "", by: actorOf(request) });
        return users(request);
      },
    },
    {
      method: "PATCH",
      path: `${path}/:id`,
      who: "operator",
      body: USER,
      answer: async (request) => {
        const change = request.body as Static<typeof USER>;
        await (await openAdmin()).setUser({ user: request.params.id ?? "", ...change, by: actorOf(request) });
        return users(request);
      },
    },
    {
      method: "POST",
      path: `${path}/:id/reset`,
      who: "operator",
      answer: async (request) =>
        linkView(request, await (await openAdmin()).resetUser({ user: request.params.id ?? "", by: actorOf(request) })),
    },
  ];
};
