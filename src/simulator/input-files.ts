// What a request gives its provider: pictures and clips behind links of this machine or inside the request, fetched once and measured.
import { createHash } from "node:crypto";
import type { Json, JsonObject } from "../domain/types.ts";
import type { SecondReading } from "../media/reference-probe.ts";
import { inMemory, type Sandbox } from "../media/sandbox/sandbox.ts";
import type { Size } from "./resolutions.ts";

const MOST_BYTES = 64 * 1024 * 1024;
const FETCH_MS = 10_000;
/** With the wait for a process that reads it. */
const READ_MS = 30_000;

const onThisMachine = (link: string): boolean => {
  if (!URL.canParse(link)) return false;
  const { protocol, hostname } = new URL(link);
  return /^https?:$/.test(protocol) && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
};

/** A clip or sound as it was received: what a provider would bill. */
export type Received = { link: string; kind: "video" | "audio"; ms: number; bytes: number; sha256: string };

export type ClipFacts = { ms: number; sound: boolean } & Partial<Size>;

/** The files of one job: each link is opened once, so that all that is made of it, and told of it, is of the same bytes. */
export type Sources = {
  /** Sides in px; undefined when they cannot be told. */
  picture(link: string): Promise<Size | undefined>;
  /** Length, shape and sound of a clip or a sound; undefined when they cannot be told. */
  clip(link: string): Promise<ClipFacts | undefined>;
  /** Of links and files inside the request. */
  received(): Promise<Received[]>;
};

const inline = (link: string): Uint8Array | undefined => {
  const base64 = /^data:[^,]*;base64,/.exec(link)?.[0];
  return base64 === undefined ? undefined : new Uint8Array(Buffer.from(link.slice(base64.length), "base64"));
};

/** The file inside the text or behind a loopback address, or undefined when it is elsewhere, too slow, too large or not there. */
const bring = async (link: string): Promise<Uint8Array | undefined> => {
  if (link.startsWith("data:")) return inline(link);
  if (!onThisMachine(link)) return undefined;
  try {
    const answer = await fetch(link, { signal: AbortSignal.timeout(FETCH_MS), redirect: "manual" });
    if (!answer.ok || answer.body === null) return undefined;
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of answer.body) {
      bytes += part.length;
      if (bytes > MOST_BYTES) return undefined;
      parts.push(part);
    }
    return new Uint8Array(Buffer.concat(parts));
  } catch {
    return undefined;
  }
};

/** What is kept of a file; its bytes are not. */
type Found = SecondReading & { bytes: number; sha256: string };

/** Every text of a request that may lead to a file. */
const linksIn = (value: Json): string[] => {
  if (typeof value === "string") return onThisMachine(value) || value.startsWith("data:") ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return (Array.isArray(value) ? value : Object.values(value)).flatMap(linksIn);
};
/** A file inside a request is named by its beginning. */
const LONGEST_NAME = 300;

/** Reads strangers' bytes in a process of its own, as the service does; a file that takes more than a real one is not measured. */
const measureIn =
  (sandbox: Pick<Sandbox, "run">) =>
  async (link: string): Promise<Found | undefined> => {
    const bytes = await bring(link);
    if (!bytes) return undefined;
    const asked = { source: inMemory([bytes]), who: { share: "simulator", account: "" }, signal: AbortSignal.timeout(READ_MS) };
    const reading = await sandbox.run("readAgain", {}, asked).catch(() => undefined);
    return reading && { ...reading, bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
  };

/** @param input the model's input, as it came */
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
    return [{ link: link.slice(0, LONGEST_NAME), kind: width === undefined ? "audio" : "video", ms, bytes, sha256 }];
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
    received: async () => (await Promise.all([...new Set(linksIn(input))].map(receive))).flat(),
  };
};
