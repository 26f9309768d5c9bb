// Chooses how a provider receives our copy of a pinned input or a stored file: by a link of ours if it can open one, else in the
// first upload or inline form of its dialect that is for the file.
import { isIP } from "node:net";
import type { GivenAs, MediaKind } from "../domain/types.ts";
import { isPublicAddress, literalAddress } from "../media/ssrf-guard.ts";

/** A file for a provider; `bytes` is undefined while its size is not known. */
export type FileToGive = { kind: MediaKind; bytes: number | undefined };
/** How the provider receives one file; `form`: the position of a form in its dialect. */
export type ChosenForm = { as: "link" } | { as: Exclude<GivenAs, "link">; form: number };
/** The forms of all files, or the reason why the provider cannot receive the file at `at`. */
export type Choice = { forms: ChosenForm[] } | { at: number; why: string };

export type Giving = {
  /** How the provider receives each of these files of one request. */
  choose(providerId: string, files: readonly FileToGive[]): Choice;
  /** Whether the provider downloads links of other servers. */
  takesLinks(providerId: string): boolean;
  /** The base URL of links for a provider. */
  linkBase(providerId: string): string;
};

/** A form of a dialect, as far as it decides which files it is for. */
type Form = { as: Exclude<GivenAs, "link">; kinds?: readonly MediaKind[]; mostBytes: number; totalBytes?: number };

export type ProviderInputsDeps = {
  /** The settings `files.provider_links` and `server.public_url`. */
  links: "auto" | "on" | "off";
  publicUrl: string;
  /** The URL at which the service listens, without a trailing slash. */
  ownUrl: () => string;
  providers: {
    baseUrlOf(providerId: string): string;
    fileTraits(providerId: string): { takesLinks: boolean; forms: readonly Form[] };
  };
};

const BYTES_PER_MB = 1_048_576;
const inMb = (bytes: number): string => `${Math.floor(bytes / BYTES_PER_MB)} MB`;
const NOUNS = { image: "images", video: "videos", audio: "audio files" } as const;

/** Why no form is for a file of this kind and size, although some may be for its kind. */
const whyNone = (forms: readonly Form[], kind: MediaKind): string => {
  const most = Math.max(0, ...forms.filter(({ kinds }) => kinds?.includes(kind) ?? true).map(({ mostBytes }) => mostBytes));
  if (most > 0) return `the model's provider takes ${NOUNS[kind]} of at most ${inMb(most)}`;
  return `the model's provider takes ${NOUNS[kind]} by link only`;
};

/** Chooses the first form that is for each file, and keeps to the total of each form. */
const chooseForms = (forms: readonly Form[], files: readonly FileToGive[]): Choice => {
  const sums = forms.map(() => 0);
  const chosen: ChosenForm[] = [];
  for (const [at, { kind, bytes = 0 }] of files.entries()) {
    const form = forms.findIndex(({ kinds, mostBytes }) => (kinds?.includes(kind) ?? true) && bytes <= mostBytes);
    const found = forms[form];
    if (!found) return { at, why: whyNone(forms, kind) };
    sums[form] = (sums[form] ?? 0) + bytes;
    if ((sums[form] ?? 0) > (found.totalBytes ?? Number.POSITIVE_INFINITY))
      return { at, why: `the model's provider takes files of at most ${inMb(found.totalBytes ?? 0)} together` };
    chosen.push({ as: found.as, form });
  }
  return { forms: chosen };
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
    if (!providers.fileTraits(providerId).takesLinks) return false;
    if (links !== "auto") return links === "on";
    if (publicUrl !== "" && isPublicHttps(publicUrl)) return true;
    const base = providers.baseUrlOf(providerId);
    // A provider at a private address cannot open links to the loopback address of this machine.
    return !isPublicHost(base) && (isLoopback(base) || !isLoopback(linkBase(providerId)));
  };
  return {
    linkBase,
    takesLinks: (providerId) => providers.fileTraits(providerId).takesLinks,
    choose: (providerId, files) =>
      opensLinks(providerId)
        ? { forms: files.map(() => ({ as: "link" })) }
        : chooseForms(providers.fileTraits(providerId).forms, files),
  };
};
