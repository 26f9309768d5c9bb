// Chooses how a provider receives our copy of a pinned input or a stored file: by a link of ours if it can open one. A copy can
// also be given by the upload or inline form of the provider.
import { isIP } from "node:net";
import type { GivenAs } from "../domain/types.ts";
import { isPublicAddress, literalAddress } from "../media/ssrf-guard.ts";

export type Giving = {
  /**
   * How the provider receives a file of this size (bytes; undefined: not yet known); null: it cannot receive it. `isStored`: a
   * stored file of this service, which providers receive by link only.
   */
  formFor(providerId: string, bytes: number | undefined, isStored: boolean): GivenAs | null;
  /** The base URL of links for a provider. */
  linkBase(providerId: string): string;
};

export type ProviderInputsDeps = {
  /** The settings `files.provider_links` and `server.public_url`. */
  links: "auto" | "on" | "off";
  publicUrl: string;
  /** The URL at which the service listens, without a trailing slash. */
  ownUrl: () => string;
  providers: { baseUrlOf(providerId: string): string; uploadOf(providerId: string): { as: GivenAs; mostBytes: number } | null };
};

/** Names that public DNS does not resolve. */
const PRIVATE_NAMES = /(^|\.)(localhost|local|internal|intranet|lan|home|corp|private|test|example|invalid|home\.arpa)$/i;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/i;

const hostOf = (url: string): string => {
  const parsed = new URL(url);
  return (literalAddress(parsed) ?? parsed.hostname).replace(/\.$/, "");
};
const isLoopback = (url: string): boolean => LOOPBACK.test(hostOf(url)) || /(^|\.)localhost$/i.test(hostOf(url));
/** A name without a dot, or under a private suffix, counts as not public. */
const isPublicHost = (url: string): boolean => {
  const host = hostOf(url);
  return isIP(host) === 0 ? host.includes(".") && !PRIVATE_NAMES.test(host) : isPublicAddress(host);
};

/** Whether everybody on the internet can open links with this base. */
const isPublicHttps = (url: string): boolean => url.startsWith("https://") && isPublicHost(url);

/** A service that listens on all addresses is reached at the loopback address. */
const reachable = (url: string): string => url.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]");

export const createProviderInputs = ({ links, publicUrl, ownUrl, providers }: ProviderInputsDeps): Giving => {
  const linkBase = (providerId: string): string => {
    const isBeside = isLoopback(providers.baseUrlOf(providerId));
    return isBeside || publicUrl === "" ? reachable(ownUrl()) : publicUrl.replace(/\/+$/, "");
  };
  const opensLinks = (providerId: string): boolean => {
    if (links !== "auto") return links === "on";
    if (publicUrl !== "" && isPublicHttps(publicUrl)) return true;
    const base = providers.baseUrlOf(providerId);
    // A provider at a private address cannot open links to the loopback address of this machine.
    return !isPublicHost(base) && (isLoopback(base) || !isLoopback(linkBase(providerId)));
  };
  return {
    linkBase,
    formFor: (providerId, bytes, isStored) => {
      if (opensLinks(providerId)) return "link";
      if (isStored) return null;
      const upload = providers.uploadOf(providerId);
      return upload && (bytes ?? 0) <= upload.mostBytes ? upload.as : null;
    },
  };
};
