// Endpoints of the console API for webhook endpoints, their secrets and their deliveries.
//
// The rules are those of the API: both use the same service, its limits and its parser.
import { type TSchema, Type } from "@sinclair/typebox";
import { refuse } from "../domain/api-errors.ts";
import { deliveryId } from "../domain/ids.ts";
import type { Caller, Json } from "../domain/types.ts";
import { readChangedEndpoint, readNewEndpoint, readOverlap } from "../http/parse-webhook.ts";
import type { AccountRow, StoreReads } from "../store/store.ts";
import type { DeliveryRow, EndpointRow } from "../store/webhook-reads.ts";
import type { SentRequestOf } from "../webhooks/sent-request.ts";
import type { Owner, RotatedSecret, WebhookService } from "../webhooks/service.ts";
import type { AccessAudit } from "./access-audit.ts";
import { accountOf, accountToChange, mayChange } from "./account-scope.ts";
import { actorOf, type ConsoleRequest, type ConsoleRoute } from "./request-context.ts";
import type {
  CreatedEndpointDto,
  DeliveriesPage,
  DeliveryDto,
  DeliveryRequestDto,
  EndpointDto,
  RecoveryDto,
  SecretDto,
  WebhooksPage,
} from "./webhooks-dto.ts";

export type WebhookRoutesDeps = {
  reads: Pick<StoreReads, "account">;
  webhooks: WebhookService;
  sentRequestOf: SentRequestOf;
  /** The hidden key of an account, as the creator of an endpoint. */
  consoleCaller: (accountId: string) => Promise<Caller>;
  accessAudit: AccessAudit;
};

/** An object whose members are validated by the same code as a request to the API. */
const REQUEST = Type.Record(Type.String(), Type.Unknown());
const RECOVERY = Type.Object(
  {
    sinceMs: Type.Integer({ minimum: 0, maximum: 8_640_000_000_000_000 }),
    after: Type.Optional(Type.String({ maxLength: 40 })),
  },
  { additionalProperties: false },
);
const PATH = "/console/api/webhooks";
const SECRET = "/console/api/webhook-secret";
const DELIVERIES = "/console/api/webhook-deliveries";
const PAGE = 25;

const endpointView = (row: EndpointRow): EndpointDto => {
  const { id, url, events, description, enabled, disabledReason, failingSinceMs, lastFailureAtMs, createdAtMs } = row;
  return {
    ...{ id, url, events: events.split(" "), description, enabled, disabledReason },
    ...{ failingSinceMs, lastFailureAtMs, createdAtMs },
  };
};

const deliveryView = (row: DeliveryRow): DeliveryDto => {
  const { seq, token, endpointId, url, type, generationId, state, createdAtMs, dueAtMs, tries } = row;
  return {
    ...{ id: deliveryId(seq, token), endpointId, url, type, generationId, state, createdAtMs, tries },
    nextTryAtMs: state === "pending" ? dueAtMs : null,
  };
};

const secretView = ({ secret, previousUntilMs }: RotatedSecret): SecretDto => ({ secret, previousUntilMs });

/** The account of a request as the owner of its webhooks. An endpoint of an operator may have a host of operators. */
const createOwners = ({ reads, consoleCaller }: Pick<WebhookRoutesDeps, "reads" | "consoleCaller">) => ({
  /** For reads. */
  seen: async (request: ConsoleRequest): Promise<Owner & { account: AccountRow }> => {
    const account = await accountOf(reads, request);
    return { account, accountSeq: account.seq, accountId: account.id, keySeq: null };
  },
  /** For changes. @throws BillingError `forbidden`, `not_found` */
  changing: async (request: ConsoleRequest): Promise<Owner> => {
    const { seq: accountSeq, id: accountId } = await accountToChange(reads, request);
    const keySeq = request.who.role === "operator" ? null : (await consoleCaller(accountId)).keySeq;
    return { accountSeq, accountId, keySeq, by: actorOf(request) };
  },
});

type Paths = {
  webhooks: WebhookService;
  owners: ReturnType<typeof createOwners>;
  /** A path that changes something, or shows a secret. */
  change: (
    method: "POST" | "PATCH" | "DELETE",
    path: string,
    answer: (owner: Owner, request: ConsoleRequest) => Promise<object>,
    body?: TSchema,
  ) => ConsoleRoute;
};
const idOf = ({ params }: ConsoleRequest): string => params.id ?? "";

const endpointRoutes = ({ webhooks, owners, change }: Paths): ConsoleRoute[] => {
  const page = async (request: ConsoleRequest): Promise<WebhooksPage> => {
    const { account, ...owner } = await owners.seen(request);
    const [endpoints, outcomes] = await Promise.all([webhooks.list(owner), webhooks.outcomes(owner)]);
    return {
      account: { id: account.id, name: account.name },
      endpoints: endpoints.map(endpointView),
      outcomes,
      mayChange: mayChange(request, account.id),
    };
  };
  const create = async (owner: Owner, { body }: ConsoleRequest): Promise<CreatedEndpointDto> => {
    const { endpoint, secret } = await webhooks.create(owner, readNewEndpoint(body as Json));
    return { endpoint: endpointView(endpoint), secret, previousUntilMs: null };
  };
  const update = async (owner: Owner, request: ConsoleRequest): Promise<EndpointDto> =>
    endpointView(await webhooks.update(owner, idOf(request), readChangedEndpoint(request.body as Json)));
  const remove = async (owner: Owner, request: ConsoleRequest): Promise<object> => {
    await webhooks.remove(owner, idOf(request));
    return { id: idOf(request) };
  };
  return [
    { method: "GET", path: PATH, who: "user", answer: page },
    change("POST", PATH, create, REQUEST),
    change("PATCH", `${PATH}/:id`, update, REQUEST),
    change("DELETE", `${PATH}/:id`, remove),
  ];
};

const secretRoutes = ({ webhooks, change }: Paths, accessAudit: AccessAudit): ConsoleRoute[] => {
  const noteSecret = ({ who }: ConsoleRequest, of: string, { accountId }: Owner): void =>
    accessAudit.note(who, { what: "webhook secret", of, accountId });
  const show = async (owner: Owner, request: ConsoleRequest): Promise<SecretDto> => {
    const secret = await webhooks.secret(owner, idOf(request));
    noteSecret(request, idOf(request), owner);
    return secretView(secret);
  };
  const showDefault = async (owner: Owner, request: ConsoleRequest): Promise<SecretDto> => {
    noteSecret(request, owner.accountId, owner);
    return secretView(await webhooks.defaultSecret(owner));
  };
  const rotate = async (owner: Owner, request: ConsoleRequest): Promise<SecretDto> =>
    secretView(await webhooks.rotate(owner, idOf(request), readOverlap(request.body as Json)));
  const rotateDefault = async (owner: Owner, { body }: ConsoleRequest): Promise<SecretDto> =>
    secretView(await webhooks.rotateDefault(owner, readOverlap(body as Json)));
  return [
    change("POST", `${PATH}/:id/secret`, show),
    change("POST", `${PATH}/:id/rotate`, rotate, REQUEST),
    change("POST", SECRET, showDefault),
    change("POST", `${SECRET}/rotate`, rotateDefault, REQUEST),
  ];
};

/** What was sent contains the generation, so operators who read it leave a record. */
const sentRoute = ({ webhooks, owners }: Paths, { sentRequestOf, accessAudit }: WebhookRoutesDeps): ConsoleRoute => ({
  method: "GET",
  path: `${DELIVERIES}/:id/request`,
  who: "user",
  answer: async (request): Promise<DeliveryRequestDto> => {
    const { account, ...owner } = await owners.seen(request);
    const { seq, generationId } = await webhooks.delivery(owner, idOf(request));
    const sent = await sentRequestOf(owner.accountSeq, seq);
    if (!sent) return refuse("not_found", "The generation of this delivery is not stored any more.");
    if (generationId !== null) accessAudit.note(request.who, { what: "generation", of: generationId, accountId: account.id });
    return sent;
  },
});

const deliveryRoutes = ({ webhooks, owners, change }: Paths): ConsoleRoute[] => {
  const list = async (request: ConsoleRequest): Promise<DeliveriesPage> => {
    const owner = await owners.seen(request);
    // One more than shown decides whether there is a further page.
    const rows = await webhooks.deliveries(owner, request.query.get("after"), PAGE + 1);
    const shown = rows.slice(0, PAGE).map(deliveryView);
    return { deliveries: shown, next: rows.length > PAGE ? (shown.at(-1)?.id ?? null) : null };
  };
  const test = async (owner: Owner, request: ConsoleRequest): Promise<DeliveryDto> =>
    deliveryView(await webhooks.sendTest(owner, idOf(request)));
  const recover = async (owner: Owner, request: ConsoleRequest): Promise<RecoveryDto> => {
    const { sinceMs, after = null } = request.body as { sinceMs: number; after?: string };
    return await webhooks.recover(owner, idOf(request), { sinceMs, after });
  };
  const redeliver = async (owner: Owner, request: ConsoleRequest): Promise<DeliveryDto> =>
    deliveryView(await webhooks.redeliver(owner, await webhooks.delivery(owner, idOf(request))));
  const show = async (request: ConsoleRequest): Promise<DeliveryDto> =>
    deliveryView(await webhooks.delivery(await owners.seen(request), idOf(request)));
  return [
    { method: "GET", path: DELIVERIES, who: "user", answer: list },
    { method: "GET", path: `${DELIVERIES}/:id`, who: "user", answer: show },
    change("POST", `${PATH}/:id/test`, test),
    change("POST", `${PATH}/:id/recover`, recover, RECOVERY),
    change("POST", `${DELIVERIES}/:id/redeliver`, redeliver),
  ];
};

export const webhookRoutes = (deps: WebhookRoutesDeps): ConsoleRoute[] => {
  const owners = createOwners(deps);
  const change: Paths["change"] = (method, path, answer, body) => ({
    ...{ method, path, who: "user" as const, ...(body ? { body } : {}) },
    answer: async (request: ConsoleRequest) => answer(await owners.changing(request), request),
  });
  const paths = { webhooks: deps.webhooks, owners, change };
  const deliveries = [...deliveryRoutes(paths), sentRoute(paths, deps)];
  return [...endpointRoutes(paths), ...secretRoutes(paths, deps.accessAudit), ...deliveries];
};
