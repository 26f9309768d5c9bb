// Opens the room: one measure and one collect with their guard, budgets and places.
import type { Files } from "../files/port.ts";
import type { Spool } from "../files/spool.ts";
import type { AllowsHost } from "./allow.ts";
import { openCollect } from "./collect.ts";
import type { Resolve } from "./guard.ts";
import type { Media } from "./port.ts";
import { openProbe } from "./probe.ts";
import { READ_BUDGET, type ReadBudget } from "./remote.ts";
import { sniff } from "./sniff.ts";

export type MediaOptions = {
  files: Pick<Files, "receive" | "objectOf">;
  spool: Pick<Spool, "keep" | "open">;
  /** Headers that open a result of a provider at an address; none for most. */
  keyFor: (provider: string, address: string) => Record<string, string>;
  /** Hosts of `media.allow`. */
  allows: AllowsHost;
  /** Whether a provider's results may come from a host as if the operator had named it: the host of its base URL. */
  allowsResult: (provider: string, host: string) => boolean;
  /** Largest result file, bytes. */
  resultBytes: number;
  timeouts?: { measureMs?: number; idleMs?: number };
  budget?: Partial<ReadBudget>;
  resolve?: Resolve;
  /** A certificate authority to trust instead of the machine's, PEM. */
  ca?: string;
  /** Only for the control test; see guarded-fetch.ts. */
  guard?: "off";
};

/** Links of all requests that are measured at a time, and files of one provider that are fetched at a time. */
const MEASURING_PLACES = 128;
const COLLECTING_PLACES = 32;

/** The bytes of a `data:` address in base64; undefined for any other. */
const inlineBytes = (url: string): Uint8Array | undefined => {
  const found = url.startsWith("data:") ? url.indexOf(";base64,") : -1;
  return found < 0 ? undefined : Buffer.from(url.slice(found + ";base64,".length), "base64");
};

export const openMedia = (options: MediaOptions): Media => {
  const { files, spool, keyFor, allows, allowsResult, resultBytes, timeouts, budget, resolve, ca, guard } = options;
  const how = { ...(resolve ? { resolve } : {}), ...(ca === undefined ? {} : { ca }), ...(guard ? { guard } : {}) };
  return {
    measure: openProbe({
      fetch: { allows, ...how },
      files,
      budget: { ...READ_BUDGET, ...budget },
      timeoutMs: timeouts?.measureMs ?? 10_000,
      places: MEASURING_PLACES,
    }),
    keepInline: (ref, results) =>
      Promise.all(
        results.map(async (result, at) => {
          const bytes = inlineBytes(result.url);
          if (bytes === undefined) return result;
          const mime = sniff(bytes)?.mime ?? "application/octet-stream";
          return { ...result, url: await spool.keep(ref, at + 1, bytes, mime) };
        }),
      ),
    collect: openCollect({
      files,
      spool,
      fetchFor: (provider) => ({
        allows: (host) => allows(host) || allowsResult(provider, host),
        keyFor: (address) => keyFor(provider, address),
        ...how,
      }),
      resultBytes,
      idleMs: timeouts?.idleMs ?? 30_000,
      placesPerProvider: COLLECTING_PLACES,
    }),
  };
};
