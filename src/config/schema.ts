// Every setting of the service: its place, unit, default and what it means. Where values come from is in settings.ts.
import { type Static, Type } from "@sinclair/typebox";
import { ADDRESS, NETWORKS } from "./formats.ts";
import { MediaSettings } from "./media-schema.ts";

const flag = (initial: boolean, description: string) => Type.Boolean({ default: initial, description });
const positive = (byDefault: number, description: string, maximum = Number.MAX_SAFE_INTEGER, minimum = 1) =>
  Type.Integer({ minimum, maximum, default: byDefault, description });

/** Settings with this mark are credentials: shown by nobody. */
const SECRET = { secret: true } as const;

export const ProviderSettings = Type.Object(
  {
    base_url: Type.Optional(
      Type.String({
        format: "address",
        pattern: "^https?://",
        expects: "an address that begins with http:// or https://",
        description: "where the provider is, instead of its public address",
      }),
    ),
    key: Type.Optional(Type.String({ minLength: 1, description: "the operator's credential with this provider", ...SECRET })),
    key_file: Type.Optional(Type.String({ minLength: 1, description: "a file with the credential and nothing else in it" })),
  },
  { additionalProperties: false },
);

export const SettingsSchema = Type.Object(
  {
    server: Type.Object(
      {
        host: Type.String({ default: "127.0.0.1", minLength: 1, description: "address to listen on" }),
        port: Type.Integer({ default: 8080, minimum: 0, maximum: 65535, description: "port to listen on; 0 takes a free one" }),
        public_url: Type.String({
          default: "",
          ...ADDRESS,
          description:
            "address clients reach the service at, without a path; file links are built from it. Empty: the listening address, which may not be every address of the machine then",
        }),
        trusted_proxies: Type.String({
          default: "",
          ...NETWORKS,
          description:
            "proxies in front of the service whose X-Forwarded-For is believed, as addresses or networks, separated by commas (127.0.0.1 for one on this machine). Wrong passwords are counted by the address that they name; where server.public_url is elsewhere and none is named, the start, the console and doctor say so",
        }),
        keep_alive_s: positive(
          75,
          "seconds that a connection may be idle before the service closes it; a load balancer must close its own idle connections earlier",
          240,
        ),
        drain_s: positive(25, "longest time a drain waits for answers under way before the process ends", 30),
        drain_notice_s: positive(
          5,
          "seconds that one of several nodes takes requests after /readyz has said that it leaves",
          30,
          0,
        ),
      },
      { default: {}, additionalProperties: false },
    ),
    data: Type.Object(
      {
        dir: Type.String({ default: "./data", minLength: 1, description: "data directory: database, files, control socket" }),
        network_disk: flag(false, "accept a data directory on a network file system, whose locks cannot be relied on"),
      },
      { default: {}, additionalProperties: false },
    ),
    store: Type.Object(
      {
        url: Type.String({
          default: "",
          ...SECRET,
          pattern: "^(postgres(ql)?://\\S+)?$",
          expects: "the address of a PostgreSQL database, as postgres://user:password@host:5432/database",
          description:
            "PostgreSQL database that this node shares with others, as postgres://user:password@host/database?sslmode=verify-full. Empty: a file in the data directory, for one process alone",
        }),
        insecure: flag(
          false,
          "take a database on another machine without sslmode=verify-full: on a network where nobody else listens",
        ),
        lease_s: positive(30, "seconds after which a node that says nothing is taken for dead and others take over", 3600),
        prepared: Type.Boolean({ default: true, description: "false behind a connection pooler without prepared statements" }),
        read_connections: positive(8, "connections for reads; writing and the lease have one each", 200),
      },
      { default: {}, additionalProperties: false },
    ),
    catalogue: Type.Object(
      { dir: Type.String({ default: "", description: "directory with models/ to use instead of the built-in catalogue" }) },
      { default: {}, additionalProperties: false },
    ),
    limits: Type.Object(
      {
        burst_per_s: positive(20, "requests in one second over all keyed endpoints, per account"),
        in_progress: positive(20, "generations queued or running, per account"),
        max_running: positive(1000, "generations running at a time in this process"),
        max_running_per_route: positive(64, "generations running at a time on one route, unless the catalogue says otherwise"),
        max_pending_submissions: positive(1000, "submissions waiting for the ledger before new ones get 503 busy"),
        slow_commit_ms: positive(2000, "a commit under way for longer makes new submissions get 503 busy"),
        file_link_ttl_s: positive(3600, "seconds a file link is valid", 3600),
        file_retention_s: positive(604_800, "seconds the files of a generation are kept after success"),
        result_download_timeout_s: positive(600, "seconds that collecting a result may take"),
        default_max_wait_s: positive(86_400, "seconds after which no attempt begins, for requests without max_wait_s"),
        max_live_actors: positive(
          10_000,
          "machines kept in memory; above it, and after a minute of rest, idle ones are put away",
        ),
        result_bytes: positive(2_147_483_648, "largest result file, bytes"),
      },
      { default: {}, additionalProperties: false },
    ),
    files: Type.Object(
      {
        store: Type.Union([Type.Literal("local"), Type.Literal("s3")], {
          default: "local",
          description:
            "where result files are kept: local (the data directory) or s3 (a bucket, see the settings of s3; nodes that share a database need it)",
        }),
        provider_links: Type.Union([Type.Literal("auto"), Type.Literal("on"), Type.Literal("off")], {
          default: "auto",
          description:
            "whether providers are given signed links of the service to clips that it has pinned. auto: where server.public_url is https at a public address, and those at a loopback or private base_url. Others get the clip by their own upload or inline form",
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
            "address of an S3-compatible service; {bucket} in it stands for the bucket, which otherwise begins the path. Empty: Amazon's in s3.region",
        }),
        region: Type.String({ default: "us-east-1", minLength: 1, description: "region that requests are signed for" }),
        bucket: Type.String({ default: "", description: "bucket of the result files; it must exist" }),
        prefix: Type.String({
          default: "",
          description: "beginning of every object's name, for a bucket that holds other things",
        }),
        access_key: Type.String({ default: "", description: "id of the access key" }),
        secret_key: Type.String({ default: "", description: "the secret that belongs to s3.access_key", ...SECRET }),
      },
      { default: {}, additionalProperties: false },
    ),
    backup: Type.Object(
      {
        dir: Type.String({ default: "", description: "directory of the nightly backups; empty: none are made" }),
        at: Type.String({
          default: "03:30",
          pattern: "^([01]\\d|2[0-3]):[0-5]\\d$",
          expects: "a time of day as 03:30",
          description: "time of day of the nightly backup, UTC, as 03:30",
        }),
        keep: positive(14, "nightly backups kept; older ones are deleted after a new one is verified", 3660),
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
            "credential for the operator's pages (/metrics), 24 to 200 characters; needed to listen beyond this machine. Empty: they answer this machine only",
        }),
      },
      { default: {}, additionalProperties: false },
    ),
    console: Type.Object(
      {
        enabled: Type.Boolean({ default: true, description: "the console (/console), where people sign in" }),
        sign_up: Type.Boolean({
          default: false,
          description: "whether anybody may make an account of their own in the console; without it operators invite",
        }),
      },
      { default: {}, additionalProperties: false },
    ),
    inspector: Type.Object(
      {
        enabled: Type.Union([Type.Literal("auto"), Type.Literal("on"), Type.Literal("off")], {
          default: "auto",
          description: "the inspector (/inspector): auto: on with the simulator, else off",
        }),
        prompts: Type.Boolean({
          default: false,
          description:
            "the inspector also shows prompts and, to operators, what providers say, which may repeat them: they are your customers' words",
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
          description: "key of the Stripe account that credits are bought with. Empty: operators grant credits",
        }),
        webhook_secret: Type.String({
          default: "",
          ...SECRET,
          pattern: "^(whsec_[\\x21-\\x7e]{8,250})?$",
          expects: "the signing secret of the webhook endpoint (whsec_…)",
          description: "signing secret of the webhook endpoint at Stripe whose address is /webhooks/stripe of this service",
        }),
        api_url: Type.String({ default: "", ...ADDRESS, description: "where Stripe's API is, instead of its public address" }),
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
            "attempts of one generation that may deliver something else than what was ordered before it fails, although routes are left; 0: every route is tried",
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
            "an account's people are told when less than so many USD are available; 0: never. Accounts may set their own",
        }),
      },
      { default: {}, additionalProperties: false },
    ),
    media: MediaSettings,
    simulator: Type.Object(
      {
        speed: Type.Number({
          default: 1,
          exclusiveMinimum: 0,
          maximum: 100_000,
          description: "how fast the simulator works; 1 = a picture in about 2 s",
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
            description: "lines below this level are not written",
          },
        ),
        format: Type.Union([Type.Literal("auto"), Type.Literal("json"), Type.Literal("pretty")], {
          default: "auto",
          description: "auto: pretty on a terminal, else JSON lines",
        }),
        prompts: Type.Boolean({
          default: false,
          description: "also log what was asked for, prompts and media addresses included: they are your customers' words",
        }),
      },
      { default: {}, additionalProperties: false },
    ),
  },
  { additionalProperties: false },
);
export type Settings = Static<typeof SettingsSchema>;

/**
 * A setting that cannot be used. The message is one line that says which, and what is allowed. `isPassing`: it could not be read, or not as a
 * whole, which a later start may find otherwise; what was read and is wrong stays so.
 */
export class BadSetting extends Error {
  readonly isPassing: boolean;

  constructor(message?: string, { isPassing = false }: { isPassing?: boolean } = {}) {
    super(message);
    this.isPassing = isPassing;
  }
}

/** What the variables of settings begin with. */
export const PREFIX = "GENROUTER_";

/** How the settings of a provider begin as environment variables; a variable's name holds no hyphen. */
export const providerSetting = (id: string): string => `${PREFIX}PROVIDERS__${id.toUpperCase().replaceAll("-", "_")}`;
