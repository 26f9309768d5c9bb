// The guard of outgoing fetches: which URLs may be opened at all, and which addresses may be connected to.
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { AllowsHost } from "./host-allowlist.ts";

/** Finds every address, v4 and v6, of a name; an empty list or a rejection when there is none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** A URL that may be opened. `trusted`: the operator has named its host, so any address will do. */
export type Vetted = { kind: "vetted"; url: URL; trusted: boolean };
/** Why not, as a sentence that names nothing but what the caller sent. */
export type Forbidden = { kind: "forbidden"; why: string };

const forbidden = (why: string): Forbidden => ({ kind: "forbidden", why });

/** 2000::/3 is all of the v6 space that has been given out as global unicast. */
const GLOBAL_V6 = ipaddr.parseCIDR("2000::/3");

/** Of a public range, and answered by the machine's own cloud alone: Azure's wire server, which hands out a machine's certificates. */
const OF_THE_CLOUD = new Set(["168.63.129.16"]);
const isPublicV4 = (parsed: ipaddr.IPv4): boolean => parsed.range() === "unicast" && !OF_THE_CLOUD.has(parsed.toString());

/**
 * Whether an address belongs to the public internet: plain unicast, no private, shared, translated, documentation or
 * other special range. Takes the canonical spelling only, as resolvers and `URL.hostname` give it.
 */
export const isPublicAddress = (address: string): boolean => {
  // The library alone would also take octal and short forms.
  if (isIP(address) === 0 || address.includes("%")) return false;
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv4) return isPublicV4(parsed);
  if (parsed.isIPv4MappedAddress()) return isPublicV4(parsed.toIPv4Address());
  // The library calls ::/96 (`::7f00:1`) unicast, which some stacks still read as v4; hence the second condition.
  return parsed.range() === "unicast" && parsed.match(GLOBAL_V6);
};

/** The address that a URL names literally, without brackets; undefined when it names a host by name. */
export const literalAddress = (url: URL): string | undefined => {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return isIP(host) === 0 ? undefined : host;
};

/**
 * Vets what can be known without a look-up: scheme, port, user info, literal addresses. The text is normalised first,
 * as browsers do, so that every spelling of an address (decimal, octal, short, full-width) is judged as that address.
 */
export const vetUrl = (text: string, allows: AllowsHost): Vetted | Forbidden => {
  if (!URL.canParse(text)) return forbidden("it is not a URL");
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return forbidden("only https URLs are opened");
  if (url.username !== "" || url.password !== "") return forbidden("a URL with a user name or password is not opened");
  const trusted = allows(url.host);
  if (!trusted) {
    if (url.protocol !== "https:") return forbidden("only https URLs are opened");
    if (url.port !== "") return forbidden("only port 443 is opened");
    const literal = literalAddress(url);
    if (literal !== undefined && !isPublicAddress(literal)) return forbidden("its host has no public address");
  }
  // A dot at the end is the same name to a resolver, but not to a certificate.
  if (url.hostname.endsWith(".")) url.hostname = url.hostname.slice(0, -1);
  return { kind: "vetted", url, trusted };
};

/** The machine's own resolver. */
export const systemResolve: Resolve = async (hostname) => {
  const found = await lookup(hostname, { all: true, verbatim: true });
  return found.map((entry) => entry.address);
};

/**
 * The addresses to connect to, v4 first. One address that is not public spoils them all: a name that answers with both
 * is an attempt at the private one. A name without addresses gets the same answer, so that nobody can ask from outside
 * which internal names exist.
 */
export const vetAddresses = async (vetted: Vetted, resolve: Resolve): Promise<readonly string[] | Forbidden> => {
  const literal = literalAddress(vetted.url);
  const found = literal === undefined ? await resolve(vetted.url.hostname).catch(() => []) : [literal];
  if (found.length === 0 || !(vetted.trusted || found.every(isPublicAddress))) return forbidden("its host has no public address");
  return [...found].sort((a, b) => Number(a.includes(":")) - Number(b.includes(":")));
};
