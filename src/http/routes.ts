// The table of all API endpoints: paths, methods and handlers.
import type { Settings } from "../config/schema.ts";
import type { Clock } from "../domain/clock.ts";
import type { EventStreams } from "../event-streams/event-streams.ts";
import type { Copies } from "../files/input-copies.ts";
import type { Files } from "../files/port.ts";
import { extensionOf } from "../files/serve.ts";
import type { InputLinks } from "../files/signed-input-links.ts";
import type { Links } from "../files/signed-links.ts";
import type { Cancel } from "../generations/cancel.ts";
import type { Erase } from "../generations/erase.ts";
import type { ListGenerations } from "../generations/list.ts";
import type { Quote } from "../generations/quote.ts";
import type { Submit } from "../generations/submit.ts";
import type { WaitForEnd } from "../generations/waiters.ts";
import type { Log } from "../logging/events.ts";
import type { Callbacks } from "../providers/callback-urls.ts";
import type { StoreReads } from "../store/store.ts";
import type { ResumableService } from "../uploads/resumable-service.ts";
import type { UploadService } from "../uploads/upload-service.ts";
import type { WebhookService } from "../webhooks/service.ts";
import type { AuthenticatedHandler, KeyGuard } from "./auth.ts";
import { type BalanceReads, balance } from "./endpoints/balance.ts";
import { cancellation } from "./endpoints/cancel.ts";
import { content, storedResultsOf } from "./endpoints/content.ts";
import { deletion } from "./endpoints/deletion.ts";
import { deleteEndUserLimit, type EndUserDeps, listEndUsers, putEndUser, readEndUser } from "./endpoints/end-users.ts";
import { accountEvents, generationEvents } from "./endpoints/events.ts";
import { filePreflight, linkedFile } from "./endpoints/file-links.ts";
import { createFile, deleteFile, fileContent, listFiles, readFile } from "./endpoints/files.ts";
import { generationList } from "./endpoints/generation-list.ts";
import { poll, type RecentReads, submission } from "./endpoints/generations.ts";
import { aliveness, type Readiness, readinessAnswer } from "./endpoints/health.ts";
import { type LedgerDeps, ledger } from "./endpoints/ledger.ts";
import { metricsAnswer } from "./endpoints/metrics.ts";
import { type InputSchemaOf, type Models, modelById, modelList, modelSchema } from "./endpoints/models.ts";
import { type HandlePaymentEvent, stripeWebhook } from "./endpoints/payment-webhook.ts";
import { type LinkedInputDeps, linkedInput } from "./endpoints/pinned-inputs.ts";
import { type CallbackReceived, callback } from "./endpoints/provider-callbacks.ts";
import { quoteRequest } from "./endpoints/quotes.ts";
import { resumableRoutes } from "./endpoints/resumable-uploads.ts";
import { type UsageDeps, usage } from "./endpoints/usage.ts";
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  listDeliveries,
  listEndpoints,
  readDefaultSecret,
  readEndpoint,
  recoverEndpoint,
  redeliver,
  rotateDefaultSecret,
  rotateEndpointSecret,
  testEndpoint,
  type WebhookEndpointsDeps,
} from "./endpoints/webhooks.ts";
import type { PagesOpen } from "./pages/routes.ts";
import type { SharedRateLimit } from "./rate-limit.ts";
import type { LinkTo } from "./resource.ts";
import { type Answer, answerPreflight, answerPublic, type PublicJson, publicJson } from "./response.ts";
import type { Admit } from "./websocket-upgrade.ts";

/** Components that the HTTP server depends on. */
export type HttpDeps = {
  settings: Settings;
  clock: Clock;
  log: Log;
  reads: Pick<StoreReads, "callerByKeyHash" | "generationBySeq" | "pinsOf" | "inputFilesOf" | "uploadedFile"> &
    RecentReads &
    BalanceReads &
    UsageDeps["reads"] &
    LedgerDeps["reads"] &
    EndUserDeps["reads"];
  cursors: LedgerDeps["cursors"];
  rollUpUsage: UsageDeps["rollUpUsage"];
  setEndUserLimit: EndUserDeps["setEndUserLimit"];
  submit: Submit;
  cancel: Cancel;
  erase: Erase;
  quote: Quote;
  list: ListGenerations;
  waitForEnd: WaitForEnd;
  eventStreams: EventStreams;
  models: Models;
  inputSchemaOf: InputSchemaOf;
  files: Files;
  links: Links;
  /** Uploaded files of accounts, and the storage of their bytes. */
  uploads: UploadService;
  resumable: ResumableService;
  uploadedFiles: Files;
  /** Copies of pinned inputs and stored files, and the links that authorize providers to read them. */
  copies: Copies;
  serveInput: LinkedInputDeps["serveFile"];
  inputLinks: InputLinks;
  callbacks: Callbacks;
  webhooks: WebhookService;
  /** Handles payment events; null if no payment service is configured. */
  stripeWebhook: HandlePaymentEvent | null;
  onCallback: CallbackReceived;
  readiness: Readiness;
  /** Called once per path. The returned function receives each response and its duration. */
  observe: (route: string) => (request: Request, requestId: string, response: Response, durMs: number) => void;
  /** Returns the metrics in Prometheus text format. */
  metrics: () => Promise<string>;
  /** Serves the API of the console and the inspector; null if both are off. */
  console: ((request: Request, requestId: string, address: string, peer: string | undefined) => Promise<Response>) | null;
  pages: PagesOpen;
  /** Paths that accept WebSockets. */
  sockets: readonly { path: string; admit: Admit }[];
  /** The burst limit that the nodes of a cluster share; null for a single node. */
  sharedRateLimit: SharedRateLimit | null;
  /** True if the store is open. Until then every keyed request is answered 503 `restarting`. */
  storeOpen: () => boolean;
};

type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";
/** A path and its handlers by method. HEAD is answered wherever GET is, by the same handler unless it has its own; every other method is answered 405. */
export type Route = { path: string; answers: Partial<Record<Method, Answer>> };

const OPENAPI_MAX_AGE_S = 300;

/** What endpoints need of the connection of a request. */
export type Connections = {
  /** The address of the peer; undefined if unknown. */
  peerOf: (request: Request) => string | undefined;
  /** Sets the idle timeout of a response that is not sent yet, s. */
  keepOpen: (request: Request, seconds: number) => void;
  /** Disables the idle timeout of a request whose body arrives slowly. */
  disableTimeout: (request: Request) => void;
};
const NO_CONNECTIONS: Connections = { peerOf: () => undefined, keepOpen: () => undefined, disableTimeout: () => undefined };

/** The table of all API endpoints. Parameters are written `:name`. */
export const routesOf = (deps: HttpDeps, guard: KeyGuard, connections: Connections = NO_CONNECTIONS): Route[] => {
  const { reads, files, links, log, clock, storeOpen } = deps;
  const { peerOf, keepOpen, disableTimeout } = connections;
  const uploaded = { uploads: deps.uploads, storage: deps.uploadedFiles, links, log };
  const waiting = { waitForEnd: deps.waitForEnd, keepOpen };
  const events = { reads, eventStreams: deps.eventStreams, disableTimeout };
  const linkTo: LinkTo = (id, n, mime) => links.sign(id, n, extensionOf(mime));
  const results = storedResultsOf(files, deps, deps.settings.limits.file_retention_s);
  const allModels = modelList(deps.models);
  let printed: PublicJson | undefined;
  const document: Answer = async (request, requestId) => {
    // Loaded for the first request: the schemas and texts of all operations take some milliseconds of a start.
    const { openApiDocument } = await import("./openapi/document.ts");
    printed ??= publicJson(openApiDocument(), OPENAPI_MAX_AGE_S);
    return answerPublic(printed, request, requestId);
  };
  return [
    {
      path: "/v1/generations",
      answers: {
        POST: guard.keyed("generate", submission(deps, linkTo, waiting)),
        GET: guard.keyed("read", generationList(deps.list, linkTo)),
      },
    },
    {
      path: "/v1/generations/:id",
      answers: {
        GET: guard.keyed(
          "read",
          poll(reads, linkTo, () => links.age(), waiting),
        ),
        DELETE: guard.keyed("generate", deletion(deps.erase)),
      },
    },
    { path: "/v1/generations/:id/cancel", answers: { POST: guard.keyed("generate", cancellation(deps.cancel, linkTo)) } },
    { path: "/v1/generations/:id/events", answers: { GET: guard.keyed("read", generationEvents(events)) } },
    { path: "/v1/events", answers: { GET: guard.keyed("read", accountEvents(events)) } },
    { path: "/v1/generations/:id/content", answers: { GET: guard.keyed("read", content(reads, results)) } },
    { path: "/v1/generations/:id/content/:n", answers: { GET: guard.keyed("read", content(reads, results)) } },
    {
      path: "/v1/files",
      answers: {
        GET: guard.keyed("read", listFiles(uploaded)),
        POST: guard.keyed("generate", createFile(uploaded, disableTimeout)),
      },
    },
    {
      path: "/v1/files/:id",
      answers: {
        GET: guard.keyed("read", readFile(uploaded)),
        DELETE: guard.keyed("generate", deleteFile(uploaded)),
      },
    },
    ...resumableRoutes(
      { resumable: deps.resumable, mostBytes: deps.settings.limits.upload_bytes, keepOpen: disableTimeout },
      guard,
    ),
    { path: "/v1/files/:id/content", answers: { GET: guard.keyed("read", fileContent(uploaded)) } },
    ...webhookRoutes({ webhooks: deps.webhooks }, guard),
    { path: "/v1/models", answers: { GET: allModels, OPTIONS: answerPreflight } },
    { path: "/v1/models/:id", answers: { GET: modelById(deps.models, deps.inputSchemaOf), OPTIONS: answerPreflight } },
    { path: "/v1/models/:id/schema", answers: { GET: modelSchema(deps.models, deps.inputSchemaOf), OPTIONS: answerPreflight } },
    { path: "/v1/quotes", answers: { POST: guard.keyed("read", quoteRequest(deps.quote)) } },
    { path: "/v1/balance", answers: { GET: guard.keyed("read", balance(deps)) } },
    { path: "/v1/usage", answers: { GET: guard.keyed("read", usage(deps)) } },
    { path: "/v1/ledger", answers: { GET: guard.keyed("read", ledger(deps)) } },
    { path: "/v1/end_users", answers: { GET: guard.keyed("read", listEndUsers(deps)) } },
    {
      path: "/v1/end_users/:id",
      answers: {
        GET: guard.keyed("read", readEndUser(deps)),
        PUT: guard.keyed("generate", putEndUser(deps)),
        DELETE: guard.keyed("generate", deleteEndUserLimit(deps)),
      },
    },
    { path: "/models.json", answers: { GET: allModels, OPTIONS: answerPreflight } },
    { path: "/openapi.json", answers: { GET: document, OPTIONS: answerPreflight } },
    {
      path: "/files/:id/:n",
      answers: { GET: linkedFile({ links, reads, results, uploads: uploaded, clock, storeOpen }), OPTIONS: filePreflight },
    },
    {
      path: "/inputs/:ref/:n",
      answers: {
        GET: linkedInput({ links: deps.inputLinks, reads, copies: deps.copies, serveFile: deps.serveInput, storeOpen }),
      },
    },
    { path: "/callbacks/:ref/:mac", answers: { POST: callback(deps.callbacks, deps.onCallback) } },
    ...(deps.stripeWebhook ? [{ path: "/webhooks/stripe", answers: { POST: stripeWebhook(deps.stripeWebhook) } }] : []),
    { path: "/healthz", answers: { GET: aliveness } },
    { path: "/readyz", answers: { GET: readinessAnswer(deps.readiness) } },
    { path: "/metrics", answers: { GET: metricsAnswer(deps, peerOf) } },
  ];
};

/** Webhook endpoints, secrets and deliveries. A secret signs requests, so a key that only reads does not get one. */
const webhookRoutes = (deps: WebhookEndpointsDeps, guard: KeyGuard): Route[] => {
  const read = (work: AuthenticatedHandler) => guard.keyed("read", work);
  const change = (work: AuthenticatedHandler) => guard.keyed("generate", work);
  return [
    { path: "/v1/webhook_endpoints", answers: { GET: read(listEndpoints(deps)), POST: change(createEndpoint(deps)) } },
    {
      path: "/v1/webhook_endpoints/:id",
      answers: {
        GET: read(readEndpoint(deps)),
        PATCH: change(changeEndpoint(deps)),
        DELETE: change(deleteEndpoint(deps)),
      },
    },
    { path: "/v1/webhook_endpoints/:id/rotate_secret", answers: { POST: change(rotateEndpointSecret(deps)) } },
    { path: "/v1/webhook_endpoints/:id/recover", answers: { POST: change(recoverEndpoint(deps)) } },
    { path: "/v1/webhook_endpoints/:id/test", answers: { POST: change(testEndpoint(deps)) } },
    { path: "/v1/webhook_secret", answers: { GET: change(readDefaultSecret(deps)), POST: change(rotateDefaultSecret(deps)) } },
    { path: "/v1/webhook_deliveries", answers: { GET: read(listDeliveries(deps)) } },
    { path: "/v1/webhook_deliveries/:id/redeliver", answers: { POST: change(redeliver(deps)) } },
  ];
};
