// Creates the media port: probe, pinned inputs, inline files and result downloads.

import type { Spool } from "../files/inline-spool.ts";
import type { Copies } from "../files/input-copies.ts";
import type { Files } from "../files/port.ts";
import { createDownloadResults } from "./download-results.ts";
import type { AllowsHost } from "./host-allowlist.ts";
import { inlinePieces, startOf } from "./inline-files.ts";
import { createPinInput } from "./pin-input.ts";
import type { Media } from "./port.ts";
import { createProbe } from "./probe.ts";
import { READ_BUDGET, type ReadBudget } from "./range-reader.ts";
import { kindOfHeader } from "./result-kinds.ts";
import type { Sandbox } from "./sandbox/sandbox.ts";
import type { Resolve } from "./ssrf-guard.ts";

export type MediaOptions = {
  files: Pick<Files, "receive" | "objectOf">;
  spool: Pick<Spool, "keep" | "keepHere" | "share" | "open">;
  /**
   * Storage of pinned inputs, the maximum size in bytes and the maximum time for one input, ms. Absent if inputs are not pinned.
   */
  pins?: { copies: Copies; mostBytes: number; timeoutMs: number };
  /** Headers that authorize the download of a provider's result; empty for most providers. */
  keyFor: (provider: string, address: string) => Record<string, string>;
  /** Hosts of `media.allow`. */
  allows: AllowsHost;
  /**
   * Reports whether a provider's results may come from a host as if the operator had listed it. True for the host of its base
   * URL.
   */
  allowsResult: (provider: string, host: string) => boolean;
  /** Maximum size of a result file, bytes. */
  resultBytes: number;
  /** Pictures with more pixels are not converted; 16,777,216 if absent. */
  convertPixels?: number;
  /** Inspects and converts the bytes of media files. */
  sandbox: Pick<Sandbox, "run">;
  timeouts?: { measureMs?: number; waitMs?: number; idleMs?: number };
  budget?: Partial<ReadBudget>;
  resolve?: Resolve;
  /** A certificate authority (PEM) that is trusted instead of the system's. */
  ca?: string;
  /** Only for the control test; see guarded-fetch.ts. */
  guard?: "off";
};

/**
 * Maximum number of links measured concurrently in total and for each account, and of files downloaded concurrently for each
 * provider.
 */
const MEASURING_PLACES = 128;
const PLACES_PER_ACCOUNT = 8;
const COLLECTING_PLACES = 32;
const CONVERT_PIXELS = 16_777_216;

const NO_TYPE = "application/octet-stream";

const noPins = () => Promise.reject(new Error("nothing is pinned here"));

export const createMedia = (options: MediaOptions): Media => {
  const { files, spool, pins, keyFor, allows, allowsResult, resultBytes, sandbox, timeouts, budget, resolve, ca, guard } =
    options;
  const how = { ...(resolve ? { resolve } : {}), ...(ca === undefined ? {} : { ca }), ...(guard ? { guard } : {}) };
  const { share } = spool;
  const keepBy =
    (keep: Spool["keep"]): Media["keepInline"] =>
    (ref, results) =>
      Promise.all(
        results.map(async (result, at) => {
          const pieces = await inlinePieces(result);
          if (pieces === undefined) return result;
          const { content: _, ...announced } = result;
          const look = kindOfHeader(startOf(pieces), [result.mime]);
          return { ...announced, url: await keep(ref, at + 1, pieces, look.sort === "file" ? look.mime : NO_TYPE) };
        }),
      );
  return {
    measure: createProbe({
      fetch: { allows, ...how },
      files,
      sandbox,
      budget: { ...READ_BUDGET, ...budget },
      timeoutMs: timeouts?.measureMs ?? 10_000,
      waitMs: timeouts?.waitMs ?? 10_000,
      places: MEASURING_PLACES,
      placesPerAccount: PLACES_PER_ACCOUNT,
    }),
    pin: pins ? createPinInput({ ...pins, sandbox, fetch: { allows, ...how } }) : noPins,
    hasCopy: async (generationId, copy) => (await pins?.copies.has(generationId, copy)) ?? false,
    keepInline: keepBy(spool.keep),
    ...(spool.keepHere ? { keepHere: keepBy(spool.keepHere) } : {}),
    ...(share
      ? {
          share: (results) =>
            Promise.all(results.map(async (one) => ({ ...one, url: await share(one.url, one.mime ?? NO_TYPE) }))),
        }
      : {}),
    collect: createDownloadResults({
      files,
      spool,
      sandbox,
      fetchFor: (provider) => ({
        allows: (host) => allows(host) || allowsResult(provider, host),
        keyFor: (address) => keyFor(provider, address),
        ...how,
      }),
      resultBytes,
      convertPixels: options.convertPixels ?? CONVERT_PIXELS,
      idleMs: timeouts?.idleMs ?? 30_000,
      placesPerProvider: COLLECTING_PLACES,
    }),
  };
};
