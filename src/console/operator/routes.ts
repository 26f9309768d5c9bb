// Endpoints of the operator pages, with their schemas and roles.
import { Type } from "@sinclair/typebox";
import { DECISIONS } from "../../domain/operator-decision.ts";
import type { ConsoleRequest, ConsoleRoute } from "../request-context.ts";
import { createAccounts } from "./accounts.ts";
import { createBackupService } from "./backup-service.ts";
import type { OperatorDeps } from "./deps.ts";
import { createLedgerVerification } from "./ledger-verification.ts";
import { createOrphans } from "./orphan-list.ts";
import { createOverview } from "./overview.ts";
import { createProviderService } from "./provider-service.ts";
import { createRouteService } from "./route-service.ts";
import { createServiceStatus } from "./service-status.ts";

const MAX_CREDITS = 1_000_000_000;
/** A hundred years. */
const MAX_RETENTION_S = 3_153_600_000;
const object = <P extends Parameters<typeof Type.Object>[0]>(members: P) => Type.Object(members, { additionalProperties: false });
/** Created by the page for one request, so that a repeated request is granted once. */
const reference = Type.String({ minLength: 8, maxLength: 80, pattern: "^[A-Za-z0-9-]+$" });
/** A text with at least one visible character. */
const text = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: "\\S" });
const limit = Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 1_000_000 }), Type.Null()]));

const NEW_ACCOUNT = object({ reference, name: text(200), creditCredits: Type.Integer({ minimum: 0, maximum: MAX_CREDITS }) });
const ACCOUNT_CHANGE = Type.Object(
  {
    ...{ paused: Type.Optional(Type.Boolean()), burstPerS: limit, inProgressLimit: limit },
    promptRetentionS: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0, maximum: MAX_RETENTION_S }), Type.Literal("forever"), Type.Null()]),
    ),
  },
  { additionalProperties: false, minProperties: 1 },
);
const amount = { minimum: 1, maximum: MAX_CREDITS };
const CREDITS = object({
  reference,
  credits: Type.Union([Type.Integer(amount), Type.Integer({ minimum: -amount.maximum, maximum: -amount.minimum })]),
  note: text(500),
});
const GENERATION_DECISION = object({
  decision: Type.Union(DECISIONS.map((one) => Type.Literal(one))),
  attempt: Type.Union([Type.Integer({ minimum: 1, maximum: 1000 }), Type.Null()]),
  reason: text(500),
});
const DECISION = object({ credits: Type.Integer({ minimum: 0, maximum: MAX_CREDITS }), reason: text(500) });
const SWITCH = object({ reason: Type.Union([text(500), Type.Null()]) });
const KEY = object({ key: Type.String({ minLength: 1, maxLength: 4_096 }) });
const TRY = object({ reference });

const BASE = "/console/api/operator";

export const operatorRoutes = (deps: OperatorDeps): ConsoleRoute[] => {
  const accounts = createAccounts(deps);
  const routes = createRouteService(deps);
  const providers = createProviderService(deps);
  const orphans = createOrphans(deps);
  const verification = createLedgerVerification(deps);
  const backups = createBackupService(deps);
  const service = createServiceStatus(deps, backups);
  const overview = createOverview(deps, backups);
  type Answer = (request: ConsoleRequest) => Promise<object>;
  const look = (path: string, answer: Answer): ConsoleRoute => ({
    method: "GET",
    path: `${BASE}/${path}`,
    who: "viewer",
    answer,
  });
  const act = (
    method: "POST" | "PATCH" | "DELETE",
    path: string,
    body: NonNullable<ConsoleRoute["body"]> | null,
    answer: Answer,
  ): ConsoleRoute => ({ method, path: `${BASE}/${path}`, who: "operator", ...(body ? { body } : {}), answer });
  return [
    look("overview", overview.show),
    look("accounts", accounts.list),
    act("POST", "accounts", NEW_ACCOUNT, accounts.create),
    look("accounts/:id", accounts.show),
    act("PATCH", "accounts/:id", ACCOUNT_CHANGE, accounts.change),
    act("POST", "accounts/:id/credits", CREDITS, accounts.credit),
    act("POST", "accounts/:id/reversals/:reversal", DECISION, accounts.decide),
    look("routes", routes.list),
    act("POST", "routes/:id/switch", SWITCH, routes.switch),
    act("POST", "routes/:id/check", null, routes.check),
    act("POST", "routes/:id/try", TRY, routes.try),
    look("trials/:id", routes.trial),
    look("providers", providers.list),
    act("POST", "providers/:account/key", KEY, providers.setKey),
    act("POST", "providers/:account/check", null, providers.check),
    act("DELETE", "providers/:account/key", null, providers.dropKey),
    look("orphans", orphans.list),
    look("verification", verification.show),
    // Allowed for viewers, because verification only reads.
    { method: "POST", path: `${BASE}/verification`, who: "viewer", answer: verification.begin },
    look("service", service.show),
    act("POST", "backup", null, backups.begin),
    act("POST", "generations/:id/decision", GENERATION_DECISION, service.decide),
  ];
};
