// Trace ids: derives the span ids of a generation from its id.
//
// Every process that works on the generation writes into the same trace.

const digest = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex");

/** `traceId`: 32 hexadecimal digits; `rootId`: 16, the span of the whole generation. */
export const traceOf = (generationId: string): { traceId: string; rootId: string } => {
  const hex = digest(`genrouter ${generationId}`);
  return { traceId: hex.slice(0, 32), rootId: hex.slice(32, 48) };
};

/** The id of a child span, derived from its name. */
export const partOf = (generationId: string, part: string): string => digest(`genrouter ${generationId} ${part}`).slice(0, 16);

export type Parent = { traceId: string; spanId: string; isSampled: boolean };

/** Version, trace, span and flags in the format of W3C Trace Context; later versions may append fields after the flags. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

/** The caller's span; undefined if the header names none. */
export const parentIn = (traceparent: string | null): Parent | undefined => {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? "") ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags ?? "0", 16) & 1) === 1 };
};
