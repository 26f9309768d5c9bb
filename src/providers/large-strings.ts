// Streaming JSON reader that sets long strings aside as they arrive.
//
// No step handles a whole long string at once, such as a file inside a response.

/** A string that was set aside: its unescaped pieces, and whether they can be base64 or hex. */
export type LongText = { pieces: readonly string[]; isBase64: boolean; isHex: boolean };

export type Sifted = {
  /** The response with a short placeholder for each long string. */
  text: string;
  /** The long strings, by placeholder. */
  longTexts: ReadonlyMap<string, LongText>;
};

/** A string longer than this is set aside. No text of a provider is that long; files are. */
const LONG_BYTES = 64 * 1024;
/** Limit for the response without its long strings. No valid response is larger, and parsing one would block the event loop. */
export const MAX_LEFT_BYTES = 2 * 1024 * 1024;
/** A piece of a long string of at least this size is added unchanged; smaller pieces are joined first. */
const LARGE_BYTES = 16 * 1024;
/** Bytes processed at a time, because a slice can contain many strings. After `TURN_MS` the reader yields to the event loop. */
const SLICE_BYTES = 64 * 1024;
const TURN_MS = 5;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The length of `\uXXXX`. */
const MAX_ESCAPE = 6;

/** Base64 padding: at most two at the end. */
const FILLER = "=";

/** The number of consecutive backslashes before a position. */
const backslashesBefore = (text: string, end: number): number => {
  let at = end;
  while (at > 0 && text.charCodeAt(at - 1) === BACKSLASH) at -= 1;
  return end - at;
};

/** A growing buffer in one allocation, because a response can have millions of pieces. */
const openPile = () => {
  let space = Buffer.alloc(0);
  let length = 0;
  return {
    length: () => length,
    add: (bytes: Uint8Array) => {
      if (length + bytes.length > space.length) {
        const larger = Buffer.alloc(Math.max(1024, 2 * space.length, length + bytes.length));
        larger.set(space.subarray(0, length));
        space = larger;
      }
      space.set(bytes, length);
      length += bytes.length;
    },
    /** A view of the content, valid until the next `add`. */
    bytes: () => space.subarray(0, length),
    clear: () => {
      length = 0;
    },
  };
};

/** Collects the pieces of a JSON string, between its quotes. */
const openLong = (): { add(bytes: Uint8Array): void; end(): LongText } => {
  const pieces: string[] = [];
  let isBase64 = true;
  let isHex = true;
  let isBegun = false;
  let isFilled = false;
  /** The start of an escape sequence whose end has not arrived. */
  let rest = "";

  const take = (text: string) => {
    let bare = text;
    // Some providers send a data URI, some only its content.
    if (!isBegun && bare.startsWith("data:")) bare = bare.slice(bare.indexOf(",") + 1);
    isBegun = true;
    if (bare === "") return;
    if (isBase64) {
      if (isFilled && /[^=\s]/.test(bare)) isBase64 = false;
      const filler = bare.indexOf(FILLER);
      if (/[^A-Za-z0-9+/=\s]/.test(bare) || (filler >= 0 && !/^[=\s]{1,100}$/.test(bare.slice(filler)))) isBase64 = false;
      isFilled ||= filler >= 0;
    }
    if (isHex && /[^0-9a-f]/i.test(bare)) isHex = false;
    pieces.push(bare);
  };

  return {
    add: (bytes) => {
      const text = rest + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
      rest = "";
      if (!text.includes("\\")) return take(text);
      // A piece can end within an escape sequence.
      const [open = ""] = /\\(?:u[0-9a-fA-F]{0,3})?$/.exec(text.slice(-MAX_ESCAPE)) ?? [];
      const isOpen = open !== "" && backslashesBefore(text, text.length - open.length) % 2 === 0;
      const whole = isOpen ? text.slice(0, text.length - open.length) : text;
      rest = isOpen ? open : "";
      try {
        take(JSON.parse(`"${whole}"`) as string);
      } catch {
        isBase64 = false;
        isHex = false;
      }
    },
    end: () => {
      const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
      return {
        pieces,
        isBase64: isBase64 && rest === "" && length > 0,
        isHex: isHex && rest === "" && length > 0 && length % 2 === 0,
      };
    },
  };
};

type TextEnd = { end: number; isClosed: boolean; isEscaped: boolean };

/** Whether the number of backslashes before `end` escapes the byte at `end`. */
const isEscapedAt = (bytes: Uint8Array, from: number, end: number, wasEscaped: boolean): boolean => {
  let at = end;
  while (at > from && bytes[at - 1] === BACKSLASH) at -= 1;
  const isOdd = (end - at) % 2 === 1;
  return at === from && wasEscaped ? !isOdd : isOdd;
};

/** The end of a string from `from` on: its quote, or the end of the bytes. `wasEscaped`: the byte at `from` is escaped. */
const endOfText = (bytes: Buffer, from: number, wasEscaped: boolean): TextEnd => {
  for (let quote = bytes.indexOf(QUOTE, from); quote >= 0; quote = bytes.indexOf(QUOTE, quote + 1))
    if (!isEscapedAt(bytes, from, quote, wasEscaped)) return { end: quote, isClosed: true, isEscaped: false };
  return { end: bytes.length, isClosed: false, isEscaped: isEscapedAt(bytes, from, bytes.length, wasEscaped) };
};

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/**
 * Reads a response in chunks and sets its long strings aside. A response that is not JSON is read the same way: it has no long
 * strings, or its text has no use.
 * @param mostLeft returns undefined if more bytes than this remain
 */
export const sift = async (chunks: AsyncIterable<Uint8Array>, mostLeft = MAX_LEFT_BYTES): Promise<Sifted | undefined> => {
  const longTexts = new Map<string, LongText>();
  const mark = crypto.randomUUID();
  const left = openPile();
  let isInText = false;
  let isEscaped = false;
  /** The current string while it is short; for a long string, the bytes that are not yet added. */
  const waiting = openPile();
  let long: ReturnType<typeof openLong> | undefined;
  const takeWaiting = () => {
    if (waiting.length() > 0) long?.add(waiting.bytes());
    waiting.clear();
  };
  const endText = () => {
    if (long) {
      takeWaiting();
      const word = `[text ${longTexts.size + 1} of ${mark}]`;
      longTexts.set(word, long.end());
      left.add(Buffer.from(word));
      long = undefined;
    } else left.add(waiting.bytes());
    waiting.clear();
  };
  const addText = (bytes: Uint8Array) => {
    if (long && bytes.length >= LARGE_BYTES) {
      takeWaiting();
      long.add(bytes);
      return;
    }
    waiting.add(bytes);
    if (waiting.length() <= LONG_BYTES) return;
    long ??= openLong();
    takeWaiting();
  };

  const take = (bytes: Buffer) => {
    for (let at = 0; at < bytes.length; )
      if (!isInText) {
        const quote = bytes.indexOf(QUOTE, at);
        const end = quote < 0 ? bytes.length : quote + 1;
        left.add(bytes.subarray(at, end));
        isInText = quote >= 0;
        at = end;
      } else {
        const { end, isClosed, isEscaped: isNextEscaped } = endOfText(bytes, at, isEscaped);
        isEscaped = isNextEscaped;
        addText(bytes.subarray(at, end));
        at = end;
        if (!isClosed) return;
        endText();
        isInText = false;
        left.add(bytes.subarray(end, end + 1));
        at += 1;
      }
  };

  let turnEndsAt = performance.now() + TURN_MS;
  for await (const chunk of chunks)
    for (let from = 0; from < chunk.byteLength; from += SLICE_BYTES) {
      take(Buffer.from(chunk.buffer, chunk.byteOffset + from, Math.min(SLICE_BYTES, chunk.byteLength - from)));
      if (left.length() > mostLeft) return undefined;
      if (performance.now() < turnEndsAt) continue;
      await turn();
      turnEndsAt = performance.now() + TURN_MS;
    }
  // A JSON text never ends within a string. An incomplete string is kept as received.
  endText();
  return left.length() > mostLeft ? undefined : { text: new TextDecoder().decode(left.bytes()), longTexts };
};
