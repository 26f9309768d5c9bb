// Resolves the client address behind trusted proxies and reports proxies that are not configured.
import { isIP } from "node:net";
import { ClockCache } from "../collections/clock-cache.ts";
import { type IsWithin, networksIn } from "../config/cidr-list.ts";
import type { Settings } from "../config/schema.ts";
import type { Log } from "../logging/events.ts";
import { isLoopback, machineOf } from "./client-address.ts";

type Server = Pick<Settings["server"], "public_url" | "trusted_proxies">;

const SETTING = "server.trusted_proxies";
/** Maximum number of proxies that are logged. */
const MAX_REPORTED = 20;

const hostOf = (publicUrl: string): string => (publicUrl === "" ? "" : new URL(publicUrl).host);
/** True if clients are remote. A proxy is then in front, because the service does not terminate TLS. */
const isRemoteAddress = (publicUrl: string): boolean => {
  if (publicUrl === "") return false;
  const { hostname } = new URL(publicUrl);
  return hostname !== "localhost" && !isLoopback(hostname.replace(/^\[|\]$/g, ""));
};

/** Describes the fault of the settings; null if they are consistent. */
export const unnamedProxy = ({ public_url: publicUrl, trusted_proxies: trusted }: Server): string | null =>
  isRemoteAddress(publicUrl) && trusted.trim() === ""
    ? `callers reach the service at ${publicUrl}, and ${SETTING} names no proxy: all of them count as one when passwords are tried. Name the proxy there (127.0.0.1 for one on this machine), and have it set X-Forwarded-For`
    : null;

/**
 * Tests whether the `X-Forwarded-For` of an address is trusted. Only configured proxies are trusted, even on this machine. Behind
 * an untrusted proxy that passes the client's header through, an attacker could choose the address that attempts are counted by.
 */
const believedBy = ({ trusted_proxies: trusted }: Server): IsWithin => networksIn(trusted) ?? (() => false);

/** What a peer address means. */
type Peer = { isBelieved: boolean; machine: string };
/** Minimum number of peers that are remembered; a proxy in front is one peer for all its clients. */
const PEERS = 1_000;

/** An entry of `X-Forwarded-For` without port and brackets, which some proxies write. */
const addressIn = (entry: string): string =>
  (/^\[([^\]]*)\](?::\d+)?$/.exec(entry) ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(entry) ?? [])[1] ?? entry;

export type Proxies = {
  /**
   * Returns the address by which a client's attempts are counted; "" if unknown. Each proxy appends the address of its peer to
   * `X-Forwarded-For`. So the list is read from its end, and entries before the first untrusted address are ignored.
   */
  callerOf(request: Request, peer: string | undefined): string;
};

export const createProxies = (server: Server, log: Log): Proxies => {
  const isBelieved = believedBy(server);
  const publicHost = hostOf(server.public_url);
  const warned = new Set<string>();
  const peers = new ClockCache<string, Peer>(PEERS);
  const peerAt = (address: string): Peer => {
    const known = peers.get(address);
    if (known !== undefined) return known;
    const peer = { isBelieved: isBelieved(address), machine: machineOf(address) };
    peers.set(address, peer);
    return peer;
  };
  const report = (peer: string, reason: string): void => {
    if (warned.has(peer) || warned.size >= MAX_REPORTED) return;
    warned.add(peer);
    log("trusted proxy missing", { address: machineOf(peer), reason });
  };
  /** Logs once for each proxy that hides the addresses of its clients. */
  const observe = (request: Request, peer: string, isTrusted: boolean): void => {
    const names = request.headers.has("x-forwarded-for");
    if (names && !isTrusted)
      report(peer, `it names callers in X-Forwarded-For and is not believed; if it is your proxy, name it in ${SETTING}`);
    if (!names && isTrusted && isRemoteAddress(server.public_url) && request.headers.get("host") === publicHost)
      report(peer, "it names no callers, so that all of them count as one: have it set X-Forwarded-For");
  };
  return {
    callerOf: (request, peer) => {
      if (peer === undefined) return "";
      const known = peerAt(peer);
      observe(request, peer, known.isBelieved);
      // Most clients use no proxy, and their list is not parsed.
      if (!known.isBelieved) return known.machine;
      let caller = peer;
      const named = (request.headers.get("x-forwarded-for") ?? "").split(",").map((part) => addressIn(part.trim()));
      while (isBelieved(caller)) {
        const before = named.pop();
        if (before === undefined || isIP(before) === 0) break;
        caller = before;
      }
      return machineOf(caller);
    },
  };
};
