// Proxies in front of the service: which of them are believed about whom they ask for, and what is said where they are not named.
import { isIP } from "node:net";
import { type IsWithin, networksIn } from "../config/cidr-list.ts";
import type { Settings } from "../config/schema.ts";
import type { Log } from "../logging/events.ts";
import { isLoopback, machineOf } from "./client-address.ts";

type Server = Pick<Settings["server"], "public_url" | "trusted_proxies">;

const SETTING = "server.trusted_proxies";
/** Distinct proxies that a line of the log is spent on. */
const MOST_TOLD = 20;

const hostOf = (publicUrl: string): string => (publicUrl === "" ? "" : new URL(publicUrl).host);
/** Whether callers come from elsewhere: then a proxy is in front, as the service has no TLS of its own. */
const isElsewhere = (publicUrl: string): boolean => {
  if (publicUrl === "") return false;
  const { hostname } = new URL(publicUrl);
  return hostname !== "localhost" && !isLoopback(hostname.replace(/^\[|\]$/g, ""));
};

/** What is wrong with the settings themselves; null where nothing is. */
export const unnamedProxy = ({ public_url: publicUrl, trusted_proxies: trusted }: Server): string | null =>
  isElsewhere(publicUrl) && trusted.trim() === ""
    ? `callers reach the service at ${publicUrl}, and ${SETTING} names no proxy: all of them count as one when passwords are tried. Name the proxy there (127.0.0.1 for one on this machine), and have it set X-Forwarded-For`
    : null;

/**
 * Whose `X-Forwarded-For` is believed: nobody's that is not named, also on this machine. A proxy that passes on the header of its own caller
 * would let strangers choose the address that their tries are counted by.
 */
const believedBy = ({ trusted_proxies: trusted }: Server): IsWithin => networksIn(trusted) ?? (() => false);

/** An entry of `X-Forwarded-For` without its port and brackets; some proxies write them. */
const addressIn = (entry: string): string =>
  (/^\[([^\]]*)\](?::\d+)?$/.exec(entry) ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(entry) ?? [])[1] ?? entry;

export type Proxies = {
  /**
   * The address that a caller's tries are counted by; "" where it is not known. Each proxy puts the address that it was asked from last into
   * `X-Forwarded-For`, so that it is read from its end, and what stands before the first that is not believed may be anybody's word.
   */
  callerOf(request: Request, peer: string | undefined): string;
};

export const createProxies = (server: Server, log: Log): Proxies => {
  const isBelieved = believedBy(server);
  const publicHost = hostOf(server.public_url);
  const told = new Set<string>();
  const tell = (peer: string, reason: string): void => {
    if (told.has(peer) || told.size >= MOST_TOLD) return;
    told.add(peer);
    log("trusted proxy missing", { address: machineOf(peer), reason });
  };
  /** Says it once of each proxy that callers stand behind without being told apart. */
  const look = (request: Request, peer: string): void => {
    const names = request.headers.has("x-forwarded-for");
    if (names && !isBelieved(peer))
      tell(peer, `it names callers in X-Forwarded-For and is not believed; if it is your proxy, name it in ${SETTING}`);
    if (!names && isBelieved(peer) && isElsewhere(server.public_url) && request.headers.get("host") === publicHost)
      tell(peer, "it names no callers, so that all of them count as one: have it set X-Forwarded-For");
  };
  return {
    callerOf: (request, peer) => {
      if (peer === undefined) return "";
      look(request, peer);
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
