// Reads the media of a request from links to this machine or data URIs.
//
// Each file is downloaded once and measured.
import { createHash } from "node:crypto";
import { networkInterfaces } from "node:os";
import type { Json, JsonObject } from "../domain/types.ts";
import type { SecondReading } from "../media/reference-probe.ts";
import { inMemory, type Sandbox } from "../media/sandbox/sandbox.ts";
import type { Size } from "./resolutions.ts";

const MAX_BYTES = 64 * 1024 * 1024;
const FETCH_MS = 10_000;
/** Includes the wait for a sandbox process. */
const READ_MS = 30_000;

let own: ReadonlySet<string> | undefined;
/** The addresses of this machine as URLs name them: a live service can listen at any of them. */
const ownAddresses = (): ReadonlySet<string> => {
  own ??= new Set(
    Object.values(networkInterfaces())
      .flatMap((each) => each ?? [])
      .map(({ family, address }) => (family === "IPv6" ? `[${address}]` : address)),
  );
  return own;
};
/** Whether a link leads to this machine. */
export const isOnThisMachine = (link: string): boolean => {
  if (!URL.canParse(link)) return false;
  const { protocol, hostname } = new URL(link);
  if (!/^https?:$/.test(protocol)) return false;
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname) || ownAddresses().has(hostname);
};

/** A received clip or sound, with the values that a provider would bill. */
export type Received = { link: string; kind: "video" | "audio"; ms: number; bytes: number; sha256: string };

/** The size and hash of an input file, of any kind. */
export type InputBytes = { bytes: number; sha256: string };

export type ClipFacts = { ms: number; sound: boolean } & Partial<Size>;

/** The files of one job. Each link is opened once, so that the result and all measurements use the same bytes. */
export type Sources = {
  /** Sides in px; undefined if they cannot be measured. */
  picture(link: string): Promise<Size | undefined>;
  /** Length, size and sound of a clip, or length of a sound; undefined if they cannot be measured. */
  clip(link: string): Promise<ClipFacts | undefined>;
  /** Received clips and sounds, from links and data URIs. */
  received(): Promise<Received[]>;
  /** All files, from links and data URIs, in the order of the input. */
  inputs(): Promise<InputBytes[]>;
};

const inline = (link: string): Uint8Array | undefined => {
  const base64 = /^data:[^,]*;base64,/.exec(link)?.[0];
  return base64 === undefined ? undefined : new Uint8Array(Buffer.from(link.slice(base64.length), "base64"));
};

/** Reads a file from a data URI or a link to this machine; undefined if it is on another host, too slow, too large or missing. */
const download = async (link: string): Promise<Uint8Array | undefined> => {
  if (link.startsWith("data:")) return inline(link);
  if (!isOnThisMachine(link)) return undefined;
  try {
    const answer = await fetch(link, { signal: AbortSignal.timeout(FETCH_MS), redirect: "manual" });
    if (!answer.ok || answer.body === null) return undefined;
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of answer.body) {
      bytes += part.length;
      if (bytes > MAX_BYTES) return undefined;
      parts.push(part);
    }
    return new Uint8Array(Buffer.concat(parts));
  } catch {
    return undefined;
  }
};

const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** The measurements of a file, as far as it can be measured, without its bytes. */
type Found = Partial<SecondReading> & InputBytes;

/** All strings of a request that may refer to a file. */
const linksIn = (value: Json): string[] => {
  if (typeof value === "string") return isOnThisMachine(value) || value.startsWith("data:") ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return (Array.isArray(value) ? value : Object.values(value)).flatMap(linksIn);
};
/** A data URI is identified by its start. */
const MAX_NAME = 300;

/** Reads untrusted bytes in a sandbox process, as the service does. A file that exceeds the sandbox's limits is not measured. */
const measureIn =
  (sandbox: Pick<Sandbox, "run">) =>
  async (link: string): Promise<Found | undefined> => {
    const bytes = await download(link);
    if (!bytes) return undefined;
    const requested = {
      source: inMemory([bytes]),
      who: { share: "simulator", account: "" },
      signal: AbortSignal.timeout(READ_MS),
    };
    const reading = await sandbox.run("readAgain", {}, requested).catch(() => undefined);
    return { ...reading, bytes: bytes.length, sha256: sha256Of(bytes) };
  };

/** @param input the model's input, as received */
export const createInputFiles = (input: JsonObject, sandbox: Pick<Sandbox, "run">): Sources => {
  const found = new Map<string, Promise<Found | undefined>>();
  const measure = measureIn(sandbox);
  const measureOnce = (link: string) => {
    const known = found.get(link) ?? measure(link);
    found.set(link, known);
    return known;
  };
  const receive = async (link: string): Promise<Received[]> => {
    const { ms, width, bytes = 0, sha256 = "" } = (await measureOnce(link)) ?? {};
    if (ms === undefined) return [];
    return [{ link: link.slice(0, MAX_NAME), kind: width === undefined ? "audio" : "video", ms, bytes, sha256 }];
  };
  return {
    picture: async (link) => {
      const { width, height, ms } = (await measureOnce(link)) ?? {};
      return width && height && ms === undefined ? { width, height } : undefined;
    },
    clip: async (link) => {
      const { width, height, ms, hasAudio = false } = (await measureOnce(link)) ?? {};
      if (ms === undefined) return undefined;
      return { ms, sound: hasAudio, ...(width && height ? { width, height } : {}) };
    },
    inputs: async () => {
      const read = await Promise.all([...new Set(linksIn(input))].map(measureOnce));
      return read.flatMap((found) => (found ? [{ bytes: found.bytes, sha256: found.sha256 }] : []));
    },
    received: async () => (await Promise.all([...new Set(linksIn(input))].map(receive))).flat(),
  };
};
