// Validates the URL of a PostgreSQL database and whether its connection is authenticated.
import { SQL } from "bun";
import { isLoopback } from "./cidr-list.ts";

/** Every other mode may connect without TLS or accept any certificate. */
const PROVED = "verify-full";
/** The client's number for this mode. */
const PROVED_MODE = 4;
const MODES = ["disable", "allow", "prefer", "require", "verify-ca", PROVED];

/** Characters that end the user or password of a URL unless they are percent-encoded. */
const ENCODED: Readonly<Record<string, string>> = { "#": "%23", "/": "%2F", "?": "%3F", "%": "%25", " ": "%20" };
const HOW = 'in the user and the password write "#" as %23, "/" as %2F, "?" as %3F, "@" as %40 and "%" as %25';

/** Parameters of other clients that have no effect here, because the service has its own timeouts and connection counts. */
const WITHOUT_EFFECT = new Set([
  ...["fallback_application_name", "connect_timeout", "socket_timeout", "pool_timeout", "connection_limit"],
  ...[
    "max_idle_connection_lifetime",
    "statement_cache_size",
    "channel_binding",
    "gssencmode",
    "client_encoding",
    "sslnegotiation",
  ],
  ...["supa", "uselibpqcompat"],
  ...["keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"],
]);
/** Parameters that the client reads itself or passes to the server. */
const OF_THE_CLIENT = new Set(["sslmode", "sslrootcert", "host", "ssl", "application_name"]);
/** Parameter by which Prisma marks a connection pooler in front of the database. */
const POOLED = "pgbouncer";
/** These values are equivalent for a single host, which must accept writes. */
const WRITERS = ["any", "primary", "read-write", "prefer-standby"];

const INSTEAD: Readonly<Record<string, string>> = {
  ...{ sslcert: "log in by password", sslkey: "log in by password", sslpassword: "log in by password" },
  options: "set what it sets for the role: ALTER ROLE … SET …",
  ...Object.fromEntries(["user", "password", "dbname", "port"].map((name) => [name, "write it before the question mark"])),
};

const RAW_QUESTION_MARK = `the password has a raw "?": ${HOW}`;
/** True if a "?" in the password starts the query. Otherwise the part before the path and the query contains the user. */
const isCutByQuestionMark = (rest: string): boolean => /^[^/?@]*\?.*@/.test(rest);

/** Reason why a parameter is rejected; undefined if it is accepted. */
const parameterFault = ([name, value]: [string, string]): string | undefined => {
  if (name === "sslmode")
    return MODES.includes(value.toLowerCase())
      ? undefined
      : `sslmode may be ${MODES.join(", ")}; only ${PROVED} verifies the server`;
  if (name === "schema" || name === "currentSchema" || name === "search_path")
    return value === "public" ? undefined : `drop ${name}, and set it for the role: ALTER ROLE … SET search_path = …`;
  if (OF_THE_CLIENT.has(name) || WITHOUT_EFFECT.has(name) || name === POOLED) return undefined;
  if (name === "target_session_attrs")
    return WRITERS.includes(value) ? undefined : `target_session_attrs may be ${WRITERS.join(", ")}: the service writes`;
  // A parameter name with these characters is the remainder of a password.
  if (/[@:/]/.test(name)) return RAW_QUESTION_MARK;
  return `${JSON.stringify(name)} is not a supported parameter; remove it${INSTEAD[name] ? ` and ${INSTEAD[name]}` : ""}`;
};

const canDecode = (text: string): boolean => {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
};

/** Reason why a URL cannot be parsed. The part before its last @ is the user and the password. */
const unreadable = (rest: string): string => {
  const user = rest.slice(0, Math.max(0, rest.lastIndexOf("@")));
  const raw = Object.keys(ENCODED).find((char) => char !== "%" && user.includes(char));
  if (raw !== undefined) return `the user or the password has a raw "${raw}"; write it as ${ENCODED[raw]} (${HOW})`;
  return `the URL is invalid; expected postgres://user:password@host:5432/database, and ${HOW}`;
};

/** `host` may contain the path of a socket, without a host before it in the URL. */
const withHost = (url: string): string => url.replace(/^(\w+:\/\/(?:[^@/]*@)?)(?=[/?])/, "$1localhost");

/** Reason why a URL cannot be used, without its user and password; undefined if it can. */
const addressFault = (url: string): string | undefined => {
  const rest = url.slice(url.indexOf("//") + 2);
  const hosts = rest.slice(rest.lastIndexOf("@") + 1).split(/[/?#]/)[0] ?? "";
  if (hosts.includes(",")) return "it names several hosts; use one address that follows the primary, for example of a proxy";
  const whole = withHost(url);
  if (!URL.canParse(whole)) return unreadable(rest);
  if (isCutByQuestionMark(rest)) return RAW_QUESTION_MARK;
  const { hash, username, password, pathname, searchParams } = new URL(whole);
  // A password whose first characters are digits would be parsed as a port.
  if (hash !== "" || pathname.includes("@")) return unreadable(rest);
  if (![username, password, pathname].every(canDecode))
    return `a "%" in it is not followed by two hexadecimal digits; write "%" itself as %25 (${HOW})`;
  for (const parameter of searchParams) {
    const fault = parameterFault(parameter);
    if (fault !== undefined) return fault;
  }
  return undefined;
};

/** Target of a connection, as the client itself reads the URL, its query and the environment. Opens no connection. */
const wayTo = (url: string): { host: string; isSocket: boolean; isProved: boolean } => {
  try {
    const { hostname = "", path, sslMode } = new SQL(url).options as { hostname?: string; path?: string; sslMode?: number };
    return { host: hostname, isSocket: path !== undefined, isProved: sslMode === PROVED_MODE };
  } catch {
    return { host: new URL(url).hostname, isSocket: false, isProved: false };
  }
};

/**
 * Reason why the database password and rows must not be sent to a URL; undefined if they may. The message repeats only the host.
 */
const inClear = (url: string): string | undefined => {
  const { host, isSocket, isProved } = wayTo(url);
  if (isSocket || isProved || isLoopback(host)) return undefined;
  return `the connection to ${host} is not protected against interception: add ?sslmode=${PROVED} (and &sslrootcert=/path/to/ca.pem for a private CA), or set GENROUTER_STORE__INSECURE=true on a private network`;
};

/** Reason why a URL is rejected; undefined if it is accepted. */
export const databaseFault = (url: string, isInsecureTaken: boolean): string | undefined => {
  // A text that is no PostgreSQL URL is rejected by the store's own check.
  if (!/^postgres(ql)?:\/\//.test(url)) return undefined;
  return addressFault(url) ?? (isInsecureTaken ? undefined : inClear(clientAddress(url).url));
};

/**
 * The URL as it is passed to the client. The client sends every unknown parameter to the server as a setting, and the server
 * rejects it.
 */
export const clientAddress = (url: string): { url: string; isPooled: boolean } => {
  const at = url.indexOf("?");
  if (at < 0) return { url, isPooled: false };
  const query = url.slice(at + 1).split("&");
  const kept = query.filter((each) => [...new URLSearchParams(each).keys()].some((name) => OF_THE_CLIENT.has(name)));
  const isPooled = query.includes(`${POOLED}=true`);
  return { url: url.slice(0, at) + (kept.length > 0 ? `?${kept.join("&")}` : ""), isPooled };
};
