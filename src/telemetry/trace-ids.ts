// Ids of the spans of a generation, made from its own: every process that has to do with it writes into the same trace.

const digest = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex");

/** `traceId`: 32 hexadecimal digits; `rootId`: the span of the whole generation, 16. */
export const traceOf = (generationId: string): { traceId: string; rootId: string } => {
  const hex = digest(`genrouter ${generationId}`);
  return { traceId: hex.slice(0, 32), rootId: hex.slice(32, 48) };
};

/** The id of a span below it, by what it is. */
export const partOf = (generationId: string, part: string): string => digest(`genrouter ${generationId} ${part}`).slice(0, 16);

export type Parent = { traceId: string; spanId: string; isSampled: boolean };

/** Version, trace, span and flags, as the W3C has them; later versions may go on after the flags. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

/** The caller's span, where it names one. */
export const parentIn = (traceparent: string | null): Parent | undefined => {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? "") ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags ?? "0", 16) & 1) === 1 };
};
