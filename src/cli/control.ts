// Control socket: the admin service of a running service over HTTP on a unix socket.
//
// It is for commands on the same machine.
import { chmodSync, rmSync } from "node:fs";
import { type TSchema, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { AdminService } from "../admin/admin-service.ts";
import { MAX_OVERLAP_MS } from "../admin/keys.ts";
import type { RuntimeStats, StatsReader } from "../app/runtime-stats.ts";
import type { Settings } from "../config/schema.ts";
import type { Principal } from "../domain/mutations.ts";
import { DECISIONS } from "../domain/operator-decision.ts";
import { schemaFault } from "../domain/schema-errors.ts";
import type { Json, JsonObject } from "../domain/types.ts";
import type { IssueToken } from "../inspector/inspector.ts";
import type { Log } from "../logging/events.ts";
import { controlFields } from "./control-log.ts";
import { CommandError, EXITS, messageOf } from "./exit-codes.ts";
import { actorOfHeader, BY_HEADER } from "./principal.ts";
import { dropSocketPath, makeSocketPath } from "./socket-path.ts";

/** State of a running service for commands in its data directory. */
export type About = { url: string; mode: "test" | "live"; version: string; pid: number };
/** Response over the socket. */
export type ControlAnswer = { ok: Json } | { fault: { exit: number; message: string; fix?: string; code: string } };

const text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const object = <P extends Record<string, TSchema>>(properties: P) => Type.Object(properties, { additionalProperties: false });
/** In seconds, at most a hundred years. */
const PROMPT_RETENTION = Type.Union([Type.Integer({ minimum: 0, maximum: 3_153_600_000 }), Type.Literal("forever")]);
const limit = Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 1_000_000 }), Type.Null()]));
const amount = Type.Integer({ minimum: 1, maximum: 1_000_000_000 });
const transfer = object({ reference: text(200), accountId: text(80), credits: amount, note: Type.String({ maxLength: 500 }) });

const keyLimit = Type.Optional(Type.Union([amount, Type.Null()]));
const KEY_TERMS = {
  expiresAtMs: Type.Optional(Type.Union([Type.Integer({ minimum: 0, maximum: 8_640_000_000_000_000 }), Type.Null()])),
  models: Type.Optional(Type.Union([Type.Array(text(80), { minItems: 1, maxItems: 200 }), Type.Null()])),
  limits: Type.Optional(object({ day: keyLimit, week: keyLimit, month: keyLimit })),
};

const ROLE = Type.Union([Type.Literal("member"), Type.Literal("operator"), Type.Literal("viewer")]);

/** Schema of each operation's request; a request that does not match does not reach the admin service. */
const ASKS = {
  createAccount: object({
    reference: text(200),
    name: text(200),
    creditCredits: Type.Integer({ minimum: 0, maximum: 1_000_000_000 }),
  }),
  listAccounts: object({}),
  setAccount: object({
    id: text(80),
    paused: Type.Optional(Type.Boolean()),
    burstPerS: limit,
    inProgressLimit: limit,
    promptRetentionS: Type.Optional(Type.Union([PROMPT_RETENTION, Type.Null()])),
  }),
  createKey: object({
    reference: text(200),
    accountId: text(80),
    scope: Type.Union([Type.Literal("generate"), Type.Literal("read")]),
    name: Type.String({ maxLength: 200 }),
    terms: Type.Optional(object(KEY_TERMS)),
  }),
  setKey: object({ id: text(80), name: Type.Optional(Type.String({ maxLength: 200 })), ...KEY_TERMS }),
  rotateKey: object({
    reference: text(200),
    id: text(80),
    overlapMs: Type.Integer({ minimum: 0, maximum: MAX_OVERLAP_MS }),
  }),
  listKeys: object({ accountId: Type.Union([text(80), Type.Null()]) }),
  revokeKey: object({ id: text(80) }),
  addCredits: transfer,
  takeCredits: transfer,
  listProviders: object({}),
  listModels: object({}),
  listRoutes: object({ model: Type.Union([text(80), Type.Null()]), provider: Type.Union([text(80), Type.Null()]) }),
  setProviderKey: object({ account: text(80), key: text(4_096) }),
  dropProviderKey: object({ account: text(80) }),
  rotateMasterKey: object({}),
  listJobs: object({
    provider: text(80),
    routes: Type.Array(object({ endpoint: text(500), options: Type.Record(Type.String(), Type.Unknown()) }), { maxItems: 200 }),
    sinceMs: Type.Integer({ minimum: 0 }),
  }),
  checkRoute: object({ id: text(200) }),
  tryRoute: object({
    reference: text(200),
    id: text(200),
    input: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]),
  }),
  findTrial: object({ generationId: text(80) }),
  decideGeneration: object({
    id: text(80),
    decision: Type.Union(DECISIONS.map((one) => Type.Literal(one))),
    attempt: Type.Union([Type.Integer({ minimum: 1, maximum: 1000 }), Type.Null()]),
    reason: text(500),
  }),
  switchRoute: object({ id: text(200), reason: Type.Union([text(500), Type.Null()]) }),
  listUsers: object({}),
  inviteUser: object({
    email: text(300),
    role: ROLE,
    accountId: Type.Union([text(80), Type.Null()]),
    accountName: Type.Union([text(200), Type.Null()]),
  }),
  withdrawInvitation: object({ id: text(80) }),
  setUser: object({ user: text(300), role: Type.Optional(ROLE), disabled: Type.Optional(Type.Boolean()) }),
  resetUser: object({ user: text(300) }),
  setUpLink: object({}),
  listUndecided: object({}),
  decideReversal: object({ id: text(200), credits: Type.Integer({ minimum: 0, maximum: 1_000_000_000 }), reason: text(500) }),
  settleRestored: object({ reason: text(500) }),
  showCredits: object({ accountId: text(80), last: Type.Integer({ minimum: 0, maximum: 1000 }) }),
} satisfies Record<keyof AdminService, TSchema>;

/** Validates the parameters of an operation. @throws CommandError (usage) naming the member. */
export const checkRequest = (operation: keyof AdminService, ask: unknown): void => {
  const fault = Value.Errors(ASKS[operation], ask).First();
  if (!fault) return;
  const { path, message } = schemaFault(fault);
  throw new CommandError(EXITS.usage, `${path.slice(1) || operation}: ${message}`, { code: "bad_flag" });
};

const isOperation = (name: string): name is keyof AdminService => Object.hasOwn(ASKS, name);

const switchedOff = () =>
  new CommandError(EXITS.refused, "the inspector of the running service is disabled", {
    fix: "set inspector.enabled to on and start the service again",
    code: "inspector_off",
  });

/** Number of responses cached by reference, so that a request repeated after a broken connection gets the first response. */
const MAX_REMEMBERED = 1000;

/**
 * Opens the control socket. Only the owner of the data directory can connect (mode 600). The caller owns the directory, so an
 * existing socket belongs to a dead process.
 * @returns a function that closes the socket and removes its files.
 */
export const openControl = (
  dir: string,
  admin: AdminService,
  about: About,
  log: Log,
  figures: (ask: StatsReader) => RuntimeStats,
  issueToken: IssueToken | null = null,
  settings: (() => Settings) | null = null,
): (() => Promise<void>) => {
  const path = makeSocketPath(dir);
  rmSync(path, { force: true });
  const remembered = new Map<string, Promise<Json>>();

  const perform = async (operation: keyof AdminService, ask: Json, by: Principal): Promise<Json> => {
    checkRequest(operation, ask);
    // A request that matches the schema has the type of the method's parameter.
    const run = admin[operation] as unknown as (ask: Json) => Promise<Json>;
    const requested = { ...(ask as JsonObject), by };
    // The complete request is the cache key. The admin service rejects a reference that is reused with another account or amount.
    const reference =
      typeof ask === "object" && ask !== null && "reference" in ask ? `${operation} ${JSON.stringify(ask)}` : null;
    if (reference === null) return run(requested);
    const known = remembered.get(reference);
    if (known) return known;
    const answer = run(requested);
    remembered.set(reference, answer);
    for (const oldest of remembered.keys()) {
      if (remembered.size <= MAX_REMEMBERED) break;
      remembered.delete(oldest);
    }
    // A rejected request may be repeated, so only successful responses are cached.
    answer.catch(() => remembered.delete(reference));
    return answer;
  };

  const answer = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url);
    const name = pathname.slice(1);
    if (request.method === "GET" && name === "about") return Response.json({ ok: about } satisfies ControlAnswer);
    // Includes credentials, because a user who can connect to this socket owns the process that has them.
    if (request.method === "GET" && name === "settings" && settings !== null)
      return Response.json({ ok: settings() as unknown as Json } satisfies ControlAnswer);
    if (request.method === "GET" && name === "figures")
      return Response.json({ ok: figures({ collect: searchParams.has("collect") }) } satisfies ControlAnswer);
    const by = actorOfHeader(request.headers.get(BY_HEADER));
    let ask: Json | undefined;
    try {
      if (request.method === "POST" && name === "inspectorToken") {
        // A user who can connect to this socket owns the data directory.
        if (issueToken === null) throw switchedOff();
        log("control request", controlFields(name, undefined, by));
        return Response.json({ ok: issueToken("operator", by) } satisfies ControlAnswer);
      }
      if (request.method !== "POST" || !isOperation(name))
        throw new CommandError(EXITS.usage, `the service (version ${about.version}) has no operation ${name}`, {
          fix: "use the genrouter command of the same version",
          code: "unknown_operation",
        });
      ask = (await request.json()) as Json;
      const ok = await perform(name, ask, by);
      log("control request", controlFields(name, ask, by));
      return Response.json({ ok } satisfies ControlAnswer);
    } catch (fault) {
      const cliMessage = await messageOf(fault);
      const why = { error_code: cliMessage.code, ...(cliMessage.expected ? {} : { reason: cliMessage.lines.join(" ") }) };
      log("control request", { ...controlFields(name, ask, by), ...why });
      const [message = "", fix] = cliMessage.lines;
      return Response.json({
        fault: { exit: cliMessage.exit, message, ...(fix ? { fix } : {}), code: cliMessage.code },
      } satisfies ControlAnswer);
    }
  };

  // The socket is created with the process's umask. With this umask no other user can connect even before the chmod.
  const mask = process.umask(0o177);
  let server: ReturnType<typeof Bun.serve>;
  try {
    server = Bun.serve({ unix: path, maxRequestBodySize: 65_536, fetch: answer });
    chmodSync(path, 0o600);
  } finally {
    process.umask(mask);
  }
  return async () => {
    await server.stop();
    dropSocketPath(dir);
  };
};
