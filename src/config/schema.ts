// Schema of every setting of the service: place, unit, default and meaning.
//
// load.ts reads the values.
import { type Static, Type } from "@sinclair/typebox";
import { ADDRESS, NETWORKS } from "./formats.ts";
import { MailSettings } from "./mail-schema.ts";
import { MediaSettings } from "./media-schema.ts";

const flag = (initial: boolean, description: string) => Type.Boolean({ default: initial, description });
const positive = (byDefault: number, description: string, maximum = Number.MAX_SAFE_INTEGER, minimum = 1) =>
  Type.Integer({ minimum, maximum, default: byDefault, description });

/** Marks a setting as a credential, which is never printed. */
const SECRET = { secret: true } as const;

export const ProviderSettings = Type.Object(
  {
    base_url: Type.Optional(
      Type.String({
        format: "address",
        pattern: "^https?://",
        expects: "an address that begins with http:// or https://",
        description: "base URL of the provider's API, in place of its public address",
      }),
    ),
    key: Type.Optional(
      Type.String({ minLength: 1, description: "API key of the operator's account with this provider", ...SECRET }),
    ),
    key_file: Type.Optional(Type.String({ minLength: 1, description: "file that contains the API key and nothing else" })),
  },
  { additionalProperties: false },
);

export const SettingsSchema = Type.Object(
  {
    server: Type.Object(
      {
        host: Type.String({ default: "127.0.0.1", minLength: 1, description: "address to listen on" }),
        port: Type.Integer({
          default: 8080,
          minimum: 0,
          maximum: 65535,
          description: "port to listen on; 0 selects a free port",
        }),
        public_url: Type.String({
          default: "",
          ...ADDRESS,
          description:
            "URL at which clients reach the service, without a path; file links start with it. If empty, the listening address is used, which must then be one address and not a wildcard",
        }),
        trusted_proxies: Type.String({
          default: "",
          ...NETWORKS,
          description:
            "trusted reverse proxies, as addresses or networks, separated by commas (127.0.0.1 for a proxy on this machine). The service takes the client address from their X-Forwarded-For and counts failed sign-ins by it. If server.public_url names another host and no proxy is listed, the start, the console and doctor print a warning",
        }),
        keep_alive_s: positive(
          75,
          "idle time in seconds before the service closes a connection; a load balancer must use a shorter idle timeout",
          240,
        ),
        drain_s: positive(25, "maximum time in seconds that a drain waits for running requests before the process exits", 30),
        drain_notice_s: positive(
          5,
          "seconds that a node of a cluster accepts requests after /readyz has started to return 503 for a drain",
          30,
          0,
        ),
      },
      { default: {}, additionalProperties: false },
    ),
    data: Type.Object(
      {
        dir: Type.String({ default: "./data", minLength: 1, description: "data directory: database, files, control socket" }),
        network_disk: flag(false, "allow a data directory on a network file system, where file locks are not reliable"),
      },
      { default: {}, additionalProperties: false },
    ),
    store: Type.Object(
      {
        url: Type.String({
          default: "",
          ...SECRET,
          pattern: "^(postgres(ql)?://\\S+)?$",
          expects: "the URL of a PostgreSQL database, as postgres://user:password@host:5432/database",
          description:
            "URL of a PostgreSQL database for one or more nodes, as postgres://user:password@host/database?sslmode=verify-full. If empty, the service stores its data in SQLite in the data directory, for one process",
        }),
        insecure: flag(false, "allow a database on another machine without sslmode=verify-full; only for a private network"),
        lease_s: positive(
          30,
          "lease duration in seconds; a node that does not renew its lease within it is considered dead and other nodes take over",
          3600,
        ),
        prepared: Type.Boolean({
          default: true,
          description: "use prepared statements; set to false behind a connection pooler that does not support them",
        }),
        read_connections: positive(8, "number of read connections; the writer and the lease use one more each", 200),
      },
      { default: {}, additionalProperties: false },
    ),
    catalogue: Type.Object(
      { dir: Type.String({ default: "", description: "directory with models/ that replaces the built-in catalogue" }) },
      { default: {}, additionalProperties: false },
    ),
    limits: Type.Object(
      {
        burst_per_s: positive(20, "maximum requests per second and account over all endpoints that take a key"),
        in_progress: positive(20, "maximum generations that are queued or running per account"),
        max_running: positive(1000, "maximum generations that run concurrently in this process"),
        max_running_per_route: positive(
          64,
          "maximum generations that run concurrently on one route, unless the catalogue sets another number",
        ),
        max_pending_submissions: positive(1000, "maximum submissions that wait for the ledger; further submissions get 503 busy"),
        slow_commit_ms: positive(2000, "commit duration in milliseconds above which new submissions get 503 busy"),
        file_link_ttl_s: positive(3600, "validity of a file link in seconds", 3600),
        file_retention_s: positive(604_800, "retention of result files in seconds after success"),
        result_download_timeout_s: positive(600, "maximum time in seconds to download and store a result"),
        default_max_wait_s: positive(86_400, "default for max_wait_s: seconds after which no attempt starts"),
        max_live_actors: positive(
          10_000,
          "maximum generation actors in memory; idle actors are passivated above it and after one idle minute",
        ),
        result_bytes: positive(2_147_483_648, "maximum size of a result file in bytes"),
        upload_bytes: positive(536_870_912, "maximum size of an uploaded file in bytes", 8_589_934_592),
        upload_quota_bytes: positive(
          10_737_418_240,
          "maximum bytes that the uploaded files of an account have in total; identical files count once",
        ),
        upload_files: positive(
          10_000,
          "maximum number of uploaded files of an account, with its open resumable uploads",
          1_000_000,
        ),
        prompt_retention_s: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 3_153_600_000,
            description:
              "time in seconds after the end of a generation at which its request, metadata and end user are erased; 0 erases them at the end, another value within a minute, and without a value they are kept. An account can have another value",
          }),
        ),
        upload_retention_s: positive(604_800, "retention of an uploaded file in seconds after its last use"),
      },
      { default: {}, additionalProperties: false },
    ),
    files: Type.Object(
      {
        store: Type.Union([Type.Literal("local"), Type.Literal("s3")], {
          default: "local",
          description:
            "storage of result files: local (the data directory) or s3 (a bucket, see the s3 settings; required when several nodes share a database)",
        }),
        provider_links: Type.Union([Type.Literal("auto"), Type.Literal("on"), Type.Literal("off")], {
          default: "auto",
          description:
            "whether providers receive signed links of this service to pinned inputs and stored files. auto: if server.public_url is a public https address, or if the provider's base_url is a loopback or private address. Other providers receive these files by upload or inside the request, as their dialects state, and routes without such a form are skipped",
        }),
      },
      { default: {}, additionalProperties: false },
    ),
    s3: Type.Object(
      {
        endpoint: Type.String({
          default: "",
          ...ADDRESS,
          description:
            "URL of an S3-compatible service; {bucket} in the host selects virtual-hosted addressing, otherwise path-style addressing is used. If empty, Amazon S3 in s3.region",
        }),
        region: Type.String({ default: "us-east-1", minLength: 1, description: "region for request signatures" }),
        bucket: Type.String({ default: "", description: "bucket for result files; it must exist" }),
        prefix: Type.String({
          default: "",
          description: "prefix of every object name, for a shared bucket",
        }),
        access_key: Type.String({ default: "", description: "access key id" }),
        secret_key: Type.String({ default: "", description: "secret access key of s3.access_key", ...SECRET }),
      },
      { default: {}, additionalProperties: false },
    ),
    backup: Type.Object(
      {
        dir: Type.String({ default: "", description: "directory for nightly backups; if empty, no backup is created" }),
        at: Type.String({
          default: "03:30",
          pattern: "^([01]\\d|2[0-3]):[0-5]\\d$",
          expects: "a time of day as 03:30",
          description: "time of day of the nightly backup, UTC, as 03:30",
        }),
        keep: positive(14, "number of nightly backups to keep; older backups are deleted after a new backup is verified", 3660),
      },
      { default: {}, additionalProperties: false },
    ),
    operator: Type.Object(
      {
        token: Type.String({
          default: "",
          ...SECRET,
          pattern: "^([\\x21-\\x7e]{24,200})?$",
          expects: "24 to 200 characters of printable ASCII, no spaces",
          description:
            "bearer token for operator endpoints (/metrics), 24 to 200 characters; required to listen on a non-loopback address. If empty, operator endpoints accept loopback requests only",
        }),
      },
      { default: {}, additionalProperties: false },
    ),
    console: Type.Object(
      {
        enabled: Type.Boolean({ default: true, description: "serve the console at /console" }),
        sign_up: Type.Boolean({
          default: false,
          description: "allow sign-up in the console; if false, operators invite users",
        }),
      },
      { default: {}, additionalProperties: false },
    ),
    inspector: Type.Object(
      {
        enabled: Type.Union([Type.Literal("auto"), Type.Literal("on"), Type.Literal("off")], {
          default: "auto",
          description: "serve the inspector at /inspector; auto: on with the simulator, otherwise off",
        }),
        prompts: Type.Boolean({
          default: false,
          description: "show prompts in the inspector, and provider texts to operators; both contain customer data",
        }),
      },
      { default: {}, additionalProperties: false },
    ),
    stripe: Type.Object(
      {
        secret_key: Type.String({
          default: "",
          ...SECRET,
          pattern: "^((sk|rk)_(live|test)_[A-Za-z0-9_]{8,250})?$",
          expects: "a secret or restricted key of Stripe (sk_live_… or rk_live_…; sk_test_… for its test mode)",
          description: "Stripe secret key for the purchase of credits. If empty, only operators grant credits",
        }),
        webhook_secret: Type.String({
          default: "",
          ...SECRET,
          pattern: "^(whsec_[\\x21-\\x7e]{8,250})?$",
          expects: "the signing secret of the webhook endpoint (whsec_…)",
          description: "signing secret of the Stripe webhook endpoint that points to /webhooks/stripe of this service",
        }),
        api_url: Type.String({
          default: "",
          ...ADDRESS,
          description: "base URL of the Stripe API, in place of its public address",
        }),
      },
      { default: {}, additionalProperties: false },
    ),
    routing: Type.Object(
      {
        max_mismatched: Type.Integer({
          default: 0,
          minimum: 0,
          maximum: 100,
          description:
            "maximum mismatched deliveries of one generation before it fails although routes remain; 0: try every route",
        }),
      },
      { default: {}, additionalProperties: false },
    ),
    credits: Type.Object(
      {
        low_balance_alert_usd: Type.Integer({
          default: 5,
          minimum: 0,
          maximum: 1_000_000,
          description:
            "available balance in USD below which an account's users see a low-balance alert and its webhooks receive credits.low; 0: never. An account can set its own value",
        }),
        seller_name: Type.String({
          default: "",
          pattern: "^[^\\x00-\\x1f\\x7f]{0,200}$",
          expects: "one line of at most 200 characters",
          description: "name of the seller on receipts. If empty, receipts name none",
        }),
        seller_address: Type.String({
          default: "",
          pattern: "^[^\\x00-\\x09\\x0b-\\x1f\\x7f]{0,500}$",
          expects: "lines of at most 500 characters in total",
          description: "postal address of the seller on receipts, with line breaks; required with credits.seller_name",
        }),
        seller_tax_id: Type.String({
          default: "",
          pattern: "^[^\\x00-\\x1f\\x7f]{0,100}$",
          expects: "one line of at most 100 characters",
          description: "tax id of the seller on receipts, such as a VAT number",
        }),
      },
      { default: {}, additionalProperties: false },
    ),
    media: MediaSettings,
    mail: MailSettings,
    webhooks: Type.Object(
      {
        allow: Type.String({
          default: "",
          description:
            "hosts (host or host:port, comma separated) that webhook endpoints may have over http, on any port and at private addresses: acc_…@host for one account, host alone for endpoints of operators and, with the simulator, of all accounts",
        }),
      },
      { default: {}, additionalProperties: false },
    ),
    simulator: Type.Object(
      {
        speed: Type.Number({
          default: 1,
          exclusiveMinimum: 0,
          maximum: 100_000,
          description: "speed factor of the simulator; 1 = a picture in about 2 s",
        }),
      },
      { default: {}, additionalProperties: false },
    ),
    providers: Type.Record(Type.String({ pattern: "^[a-z][a-z0-9-]*$" }), ProviderSettings, {
      default: {},
      additionalProperties: false,
      description: "per provider: base_url and key",
    }),
    log: Type.Object(
      {
        level: Type.Union(
          [Type.Literal("debug"), Type.Literal("info"), Type.Literal("warn"), Type.Literal("error"), Type.Literal("silent")],
          {
            default: "info",
            description: "minimum level of log lines that are written",
          },
        ),
        format: Type.Union([Type.Literal("auto"), Type.Literal("json"), Type.Literal("pretty")], {
          default: "auto",
          description: "auto: pretty on a terminal, else JSON lines",
        }),
        prompts: Type.Boolean({
          default: false,
          description: "log the input of each submission, including prompts and media URLs, which are customer data",
        }),
      },
      { default: {}, additionalProperties: false },
    ),
  },
  { additionalProperties: false },
);
export type Settings = Static<typeof SettingsSchema>;

/**
 * A setting that cannot be used. The message is one line that names the setting and the allowed values. `isPassing` is true if
 * the value could not be read completely and a later start may succeed; it is false if the value was read and is invalid.
 */
export class BadSetting extends Error {
  readonly isPassing: boolean;

  constructor(message?: string, { isPassing = false }: { isPassing?: boolean } = {}) {
    super(message);
    this.isPassing = isPassing;
  }
}

/** Prefix of the variables of settings. */
export const PREFIX = "GENROUTER_";

/** Prefix of the environment variables of a provider. Names of variables contain no hyphen. */
export const providerSetting = (id: string): string => `${PREFIX}PROVIDERS__${id.toUpperCase().replaceAll("-", "_")}`;
