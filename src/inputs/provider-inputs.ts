// How a provider is given our copy of a pinned input: by a link of ours where it can open one, else by its own upload or inline form.
import { isIP } from "node:net";
import type { GivenAs } from "../domain/types.ts";
import { isPublicAddress, literalAddress } from "../media/ssrf-guard.ts";
import type { UploadTraits } from "../providers/port.ts";

export type Giving = {
  /** How a provider is given a file of so many bytes (undefined: not known yet); null: not at all. */
  formFor(providerId: string, bytes?: number): GivenAs | null;
  /** The address that links for a provider begin with. */
  linkBase(providerId: string): string;
};

export type ProviderInputsDeps = {
  /** `files.provider_links` and `server.public_url`. */
  links: "auto" | "on" | "off";
  publicUrl: string;
  /** Where the service listens, without a slash at its end. */
  ownUrl: () => string;
  providers: { baseUrlOf(providerId: string): string; uploadOf(providerId: string): UploadTraits | null };
};

/** Names that no public resolver knows. */
const PRIVATE_NAMES = /(^|\.)(localhost|local|internal|intranet|lan|home|corp|private|test|example|invalid|home\.arpa)$/i;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/i;

const hostOf = (url: string): string => {
  const parsed = new URL(url);
  return (literalAddress(parsed) ?? parsed.hostname).replace(/\.$/, "");
};
const isLoopback = (url: string): boolean => LOOPBACK.test(hostOf(url)) || /(^|\.)localhost$/i.test(hostOf(url));
/** A name without a dot, or below what is kept for private use, is not of the internet, as far as a name tells. */
const isPublicHost = (url: string): boolean => {
  const host = hostOf(url);
  return isIP(host) === 0 ? host.includes(".") && !PRIVATE_NAMES.test(host) : isPublicAddress(host);
};

/** Anybody on the internet opens what begins with it. */
const isPublicHttps = (url: string): boolean => url.startsWith("https://") && isPublicHost(url);

/** Who listens on every address of this machine is reached at one. */
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
    // One at a private address cannot open what only this machine opens.
    return !isPublicHost(base) && (isLoopback(base) || !isLoopback(linkBase(providerId)));
  };
  return {
    linkBase,
    formFor: (providerId, bytes) => {
      if (opensLinks(providerId)) return "link";
      const upload = providers.uploadOf(providerId);
      return upload && (bytes ?? 0) <= upload.mostBytes ? upload.as : null;
    },
  };
};
