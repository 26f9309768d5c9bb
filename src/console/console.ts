// Entry point of the console API; its route tables are loaded by the first request.

import type { AdminService } from "../admin/admin-service.ts";
import type { Checkout } from "../billing/checkout.ts";
import type { Settings } from "../config/schema.ts";
import type { Clock } from "../domain/clock.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";
import type { IsAtHome } from "../inspector/access.ts";
import type { IssueToken } from "../inspector/inspector.ts";
import type { Log } from "../logging/events.ts";
import type { Store } from "../store/store.ts";
import type { SentRequestOf } from "../webhooks/sent-request.ts";
import type { WebhookService } from "../webhooks/service.ts";
import type { GenerationService } from "./generations-api.ts";
import type { OperatorServiceDeps } from "./operator/deps.ts";
import type { PasswordCost } from "./passwords.ts";
import type { ConsoleRoute } from "./request-context.ts";
import type { AnswerConsole } from "./router.ts";
import type { Sessions } from "./sessions.ts";

/** Components that the console depends on. */
export type ConsoleDeps = {
  settings: Settings;
  clock: Clock;
  log: Log;
  reads: Store;
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  sessions: Sessions;
  checkout: Checkout;
  generationService: GenerationService;
  webhookService: WebhookService;
  sentRequestOf: SentRequestOf;
  /** Resolves when usage includes all generations that have ended by now. */
  rollUpUsage: () => Promise<void>;
  models: () => readonly { id: string; name: string }[];
  /** Operations of an operator on accounts, keys, credits and routes. */
  admin: () => Promise<AdminService>;
  /** State of the running service for operators. */
  operating: () => Promise<OperatorServiceDeps>;
  /** Null if the inspector is off. */
  issueToken: IssueToken | null;
  isAtHome: IsAtHome;
  /** Set by tests only. */
  passwordCost?: PasswordCost | undefined;
};

/** Every path of the console API. */
export const tablesOf = async (deps: ConsoleDeps): Promise<ConsoleRoute[]> => {
  const { keyRoutes } = await import("./key-routes.ts");
  const { creditRoutes } = await import("./credit-routes.ts");
  const { operatorRoutes } = await import("./operator/routes.ts");
  const { inspectorRoutes } = await import("./inspector-routes.ts");
  const { createKnownDevices } = await import("./known-devices.ts");
  const { userRoutes } = await import("./user-routes.ts");
  const { auditRoutes } = await import("./audit-routes.ts");
  const { webhookRoutes } = await import("./webhook-routes.ts");
  const { createPlaygroundKeys } = await import("./playground-key.ts");
  const { submissionRoutes } = await import("./generations-api.ts");
  const { newReference } = await import("../admin/request-reference.ts");
  const { forbid } = await import("./request-context.ts");
  const { createAccessAudit } = await import("./access-audit.ts");
  const admin = await deps.admin();
  const { sessions, post } = deps;
  const accessAudit = createAccessAudit(deps);
  return [
    ...submissionRoutes({ ...deps.generationService, sessions, post, accessAudit, hasInspector: deps.issueToken !== null }),
    ...keyRoutes({ ...deps, admin, newReference: () => newReference("key"), forbid }),
    ...creditRoutes({ ...deps, accessAudit }),
    ...webhookRoutes({
      reads: deps.reads,
      webhooks: deps.webhookService,
      sentRequestOf: deps.sentRequestOf,
      consoleCaller: createPlaygroundKeys(deps),
      accessAudit,
    }),
    ...operatorRoutes({ admin, reads: deps.reads, ...(await deps.operating()) }),
    ...inspectorRoutes({ ...deps, accessAudit }),
    ...userRoutes(deps, createKnownDevices(await deps.reads.secret("devices"))),
    ...auditRoutes(deps),
  ];
};

/** Creates the console. Its modules are loaded on the first request. */
export const createConsole = (deps: ConsoleDeps): AnswerConsole => {
  let router: Promise<AnswerConsole> | undefined;
  const load = async (): Promise<AnswerConsole> => {
    const { createRouter } = await import("./router.ts");
    const { public_url } = deps.settings.server;
    const publicOrigin = public_url === "" ? null : new URL(public_url).origin;
    return createRouter({
      routes: await tablesOf(deps),
      sessions: deps.sessions,
      clock: deps.clock,
      publicOrigin,
      log: deps.log,
    });
  };
  return async (...requested) => {
    router ??= load().catch((fault: unknown) => {
      router = undefined;
      throw fault;
    });
    return (await router)(...requested);
  };
};
