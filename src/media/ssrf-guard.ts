// SSRF guard: decides which URLs and IP addresses outgoing fetches may use.
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { AllowsHost } from "./host-allowlist.ts";

/** Resolves a host name to all its IPv4 and IPv6 addresses; returns an empty list or rejects if there is none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** A URL that may be opened. `trusted`: the operator listed its host, so any address is allowed. */
export type Vetted = { kind: "vetted"; url: URL; trusted: boolean };
/** The reason as a sentence that contains only input of the caller. */
export type Forbidden = { kind: "forbidden"; why: string };

const forbidden = (why: string): Forbidden => ({ kind: "forbidden", why });

/** 2000::/3 contains all IPv6 addresses that are allocated as global unicast. */
const GLOBAL_V6 = ipaddr.parseCIDR("2000::/3");

/**
 * Addresses in a public range that only the machine's own cloud answers: Azure's WireServer, which issues machine certificates.
 */
const OF_THE_CLOUD = new Set(["168.63.129.16"]);
const isPublicV4 = (parsed: ipaddr.IPv4): boolean => parsed.range() === "unicast" && !OF_THE_CLOUD.has(parsed.toString());

/**
 * Reports whether an address belongs to the public internet: plain unicast, not private, shared, translated, documentation or
 * another special range. Accepts only the canonical spelling, which resolvers and `URL.hostname` return.
 */
export const isPublicAddress = (address: string): boolean => {
  // The library alone also accepts octal and short forms.
  if (isIP(address) === 0 || address.includes("%")) return false;
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv4) return isPublicV4(parsed);
  if (parsed.isIPv4MappedAddress()) return isPublicV4(parsed.toIPv4Address());
  // The library classifies ::/96 (`::7f00:1`) as unicast, but some network stacks still treat it as IPv4; hence the second
  // condition.
  return parsed.range() === "unicast" && parsed.match(GLOBAL_V6);
};

/** The address literal of a URL, without brackets; undefined if the URL names a host. */
export const literalAddress = (url: URL): string | undefined => {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return isIP(host) === 0 ? undefined : host;
};

/**
 * Parses a URL with a scheme that can be opened. The parser normalizes the text, so that every spelling of an address (decimal,
 * octal, short, full-width) is that address.
 */
export const readUrl = (text: string): { kind: "read"; url: URL } | Forbidden => {
  if (!URL.canParse(text)) return forbidden("it is not a URL");
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return forbidden("only https URLs are opened");
  if (url.username !== "" || url.password !== "") return forbidden("a URL with a user name or password is not opened");
  // A resolver ignores a trailing dot, but certificate verification does not.
  if (url.hostname.endsWith(".")) url.hostname = url.hostname.slice(0, -1);
  return { kind: "read", url };
};

/** Checks the parts of a URL that need no lookup: scheme, port, user info and address literals. */
export const vetUrl = (text: string, allows: AllowsHost): Vetted | Forbidden => {
  const read = readUrl(text);
  if (read.kind === "forbidden") return read;
  const { url } = read;
  const trusted = allows(url.host);
  if (!trusted) {
    if (url.protocol !== "https:") return forbidden("only https URLs are opened");
    if (url.port !== "") return forbidden("only port 443 is opened");
    const literal = literalAddress(url);
    if (literal !== undefined && !isPublicAddress(literal)) return forbidden("its host has no public address");
  }
  return { kind: "vetted", url, trusted };
};

/** The resolver of the operating system. */
export const systemResolve: Resolve = async (hostname) => {
  const found = await lookup(hostname, { all: true, verbatim: true });
  return found.map((entry) => entry.address);
};

/**
 * Returns the addresses to connect to, IPv4 first. If one address is not public, the host is forbidden, because a name that
 * resolves to both is an attempt to reach the private one. A name without addresses is refused with the same message, so that
 * clients cannot probe for internal names.
 */
export const vetAddresses = async (vetted: Vetted, resolve: Resolve): Promise<readonly string[] | Forbidden> => {
  const literal = literalAddress(vetted.url);
  const found = literal === undefined ? await resolve(vetted.url.hostname).catch(() => []) : [literal];
  if (found.length === 0 || !(vetted.trusted || found.every(isPublicAddress))) return forbidden("its host has no public address");
  return [...found].sort((a, b) => Number(a.includes(":")) - Number(b.includes(":")));
};
