// Types of the composition root: the service, its components and their dependencies.
import type { Catalogue } from "../../catalogue/load.ts";
import type { AdminService } from "../admin/admin-service.ts";
import type { Nightly } from "../backup/nightly.ts";
import type { Checkout } from "../billing/checkout.ts";
import type { LeaseKeeper } from "../cluster/lease-keeper.ts";
import type { Settings } from "../config/schema.ts";
import type { GenerationService } from "../console/generations-api.ts";
import type { OperatorServiceDeps } from "../console/operator/deps.ts";
import type { PasswordCost } from "../console/passwords.ts";
import type { Clock } from "../domain/clock.ts";
import type { Mutation, ResultOf } from "../domain/mutations.ts";
import type { Decide } from "../domain/operator-decision.ts";
import type { ResultStorage } from "../files/create-storage.ts";
import type { Submit } from "../generations/submit.ts";
import type { Http } from "../http/server.ts";
import type { Inspector } from "../inspector/inspector.ts";
import type { Log } from "../logging/events.ts";
import type { Notifications } from "../mail/notifications.ts";
import type { SmtpOptions } from "../mail/smtp.ts";
import type { Dialects } from "../providers/dialect/load.ts";
import type { Providers } from "../providers/port.ts";
import type { CallTimes } from "../providers/providers.ts";
import type { Vault } from "../providers/vault.ts";
import type { Inventory } from "../routing/inventory.ts";
import type { Store } from "../store/store.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { WebhookDelivery } from "../webhooks/delivery.ts";
import type { SendDeps } from "../webhooks/send.ts";
import type { SentRequestOf } from "../webhooks/sent-request.ts";
import type { WebhookService } from "../webhooks/service.ts";
import type { Engine, EngineDeps } from "./engine-types.ts";
import type { Maintenance } from "./maintenance.ts";
import type { MediaComponentOptions } from "./media-component.ts";
import type { createReload } from "./reload.ts";
import type { RuntimeStats, StatsReader } from "./runtime-stats.ts";
import type { ServiceAddress } from "./service-address.ts";

/** Dependencies of the components. */
export type ComponentsDeps = Pick<EngineDeps, "stuck" | "takingUp" | "unknownOutcome"> & {
  /** With the credentials of the providers. */
  settings: Settings;
  clock: Clock;
  /** Counts HTTP responses for Prometheus. Its `log` must be the log of the components, otherwise events are not counted. */
  telemetry: Telemetry;
  log: Log;
  store: Store;
  storage: Omit<ResultStorage, "begin" | "stop">;
  catalogue: Catalogue;
  dialects: Dialects;
  /** Speed factor of the providers (the simulator's speed). */
  pace: number;
  vault: Vault;
  /** Backups of the running service; absent: none are configured. */
  backups?: Pick<Nightly, "isConfigured" | "begin" | "state">;
  inventory: Inventory;
  /** Reads the provider credentials again, after another node may have changed them; absent: they do not change. */
  renewCredentials?: (activate: (keys: Settings["providers"]) => void) => Promise<void>;
  /** Overrides the timeouts of provider calls. */
  callTimes?: Partial<CallTimes>;
  /** Media options of tests, and the switch of the SSRF guard's test. */
  media?: MediaComponentOptions;
  /** Overrides time limit, name lookup and certificate authority of webhook tries, set by tests only. */
  webhooks?: Partial<Pick<SendDeps, "timeoutMs" | "fetch">>;
  /** Overrides time limit and certificate authority of mail, set by tests only. */
  mail?: SmtpOptions;
  /** Cost of the hashes of console passwords, set by tests only. */
  passwordCost?: PasswordCost;
};

/** The components except storage, clock and periodic work; most functions are those of the engine. */
export type Components = Omit<Engine, "rekeyed" | "drain" | "close" | "stop"> & {
  http: Http;
  address: ServiceAddress;
  /** The lease keeper of this node; null without a cluster. */
  leaseKeeper: LeaseKeeper | null;
  issueToken: Inspector["issueToken"];
  upkeep: Maintenance;
  /** Deletes files past their retention. */
  sweep: () => Promise<void>;
  /** Erases texts past their retention. */
  eraseExpired: () => Promise<void>;
  /** Removes what erasures have left in a shared store. */
  vacuumErased: () => Promise<void>;
  /** Reads which accounts have a retention of 0. */
  learnRetentions: () => Promise<void>;
  /** Creates the admin service, whose code is loaded by the first call. */
  admin: () => Promise<AdminService>;
  /** Reads of the running service for operators. */
  operating: () => Promise<OperatorServiceDeps>;
  /** Mails to users. */
  notifications: Notifications;
  /** The purchase of credits. */
  checkout: Checkout;
  /** Delivery of webhooks. */
  webhooks: WebhookDelivery;
  /** Webhook endpoints and deliveries of accounts. */
  webhookService: WebhookService;
  /** The request of a webhook delivery, for the console. */
  sentRequestOf: SentRequestOf;
  /** Generations of the console. */
  generationService: GenerationService;
  providers: Providers;
  /** Activates another credential of a provider account, or none. */
  rekeyed: (account: string, key: string | undefined) => void;
  /** Activates all credentials. @returns the providers whose credential changed */
  rekeyedAll: (keys: Settings["providers"]) => string[];
  drain: (longestMs: number) => Promise<void>;
};

export type ServerOptions = {
  simulate: boolean;
  telemetry: Telemetry;
  /** Wraps the store, for crash tests. */
  around?: (store: Store) => Store;
  /** Source of each setting. */
  origins?: ReadonlyMap<string, string>;
  /** Called when every component is open and the address is needed. */
  beforeListening?: () => Promise<void>;
};

export type Service = {
  /** Listening URL without a trailing slash. */
  url: string;
  mode: "test" | "live";
  reads: Store;
  inventory: Inventory;
  vault: Vault;
  providers: Providers;
  /** Activates another credential of a provider account, or none. */
  rekeyed: (account: string, key: string | undefined) => void;
  /** Posts a mutation of a user or a command. */
  post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>>;
  submit: Submit;
  decide: Decide;
  /** Mails the link of an invitation or a password reset. */
  linkMade: Notifications["linkMade"];
  readiness: () => { ready: boolean; faults: string[] };
  /** Settings of the start or the last reload. */
  settings: () => Settings;
  /** Runtime statistics; each call covers the time since the previous one. */
  figures: (ask: StatsReader) => RuntimeStats;
  /** Resolves when usage includes every generation that has ended by now. */
  rollUpUsage: () => Promise<void>;
  simulatorUrl: string | null;
  /** Creates a token for the inspector; null if it is disabled. */
  issueToken: Components["issueToken"];
  /** Reloads catalogue and credentials. An error rejects the whole reload without a change. */
  reload: ReturnType<typeof createReload>;
  /** Returns 503 `restarting` for submissions. Polls and replays are answered until running work has ended. */
  drain: () => Promise<void>;
  /** Resolves with an exit code when the service stops itself. */
  ended: Promise<number>;
};
