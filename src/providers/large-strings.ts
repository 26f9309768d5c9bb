// Answers with files inside: their long texts are set aside while they arrive, so that nothing ever handles one of them in one go.

/** A text that was set aside: the pieces as JSON means them, and what they may be. */
export type LongText = { pieces: readonly string[]; isBase64: boolean; isHex: boolean };

export type Sifted = {
  /** The answer with a short word in the place of each long text. */
  text: string;
  /** By that word. */
  longTexts: ReadonlyMap<string, LongText>;
};

/** A text is long from here on: no word of a provider is, and any file worth the name. */
const LONG_BYTES = 64 * 1024;
/** What is left of an answer without its long texts; more than that is nobody's answer, and would hold everything up. */
export const MOST_LEFT_BYTES = 2 * 1024 * 1024;
/** A part of a long text that is taken as it came; smaller ones are taken together. */
const LARGE_BYTES = 16 * 1024;
/** So much is read at a time: it may be full of texts. After so long everything else has its turn, ms. */
const SLICE_BYTES = 64 * 1024;
const TURN_MS = 5;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The length of `\uXXXX`. */
const LONGEST_ESCAPE = 6;

/** A base64 text has no more than two of them, at its end. */
const FILLER = "=";

/** How many backslashes stand side by side before a place. */
const backslashesBefore = (text: string, end: number): number => {
  let at = end;
  while (at > 0 && text.charCodeAt(at - 1) === BACKSLASH) at -= 1;
  return end - at;
};

/** Bytes that are added piece by piece, in one piece of memory: an answer may have millions of them. */
const openPile = () => {
  let room = Buffer.alloc(0);
  let length = 0;
  return {
    length: () => length,
    add: (bytes: Uint8Array) => {
      if (length + bytes.length > room.length) {
        const larger = Buffer.alloc(Math.max(1024, 2 * room.length, length + bytes.length));
        larger.set(room.subarray(0, length));
        room = larger;
      }
      room.set(bytes, length);
      length += bytes.length;
    },
    /** What lies there, until something is added. */
    bytes: () => room.subarray(0, length),
    clear: () => {
      length = 0;
    },
  };
};

/** Takes the pieces of a text in JSON, between its quotes. */
const openLong = (): { add(bytes: Uint8Array): void; end(): LongText } => {
  const pieces: string[] = [];
  let isBase64 = true;
  let isHex = true;
  let isBegun = false;
  let isFilled = false;
  /** The beginning of an escape whose end has not come. */
  let rest = "";

  const take = (text: string) => {
    let bare = text;
    // Some write the whole address of the data, some only what is in it.
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
      const said = rest + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
      rest = "";
      if (!said.includes("\\")) return take(said);
      // What an escape begins with may stand at the end of a piece.
      const [open = ""] = /\\(?:u[0-9a-fA-F]{0,3})?$/.exec(said.slice(-LONGEST_ESCAPE)) ?? [];
      const isOpen = open !== "" && backslashesBefore(said, said.length - open.length) % 2 === 0;
      const whole = isOpen ? said.slice(0, said.length - open.length) : said;
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

/** Whether so many backslashes stand before `end` that they take the meaning from what stands there. */
const isEscapedAt = (bytes: Uint8Array, from: number, end: number, wasEscaped: boolean): boolean => {
  let at = end;
  while (at > from && bytes[at - 1] === BACKSLASH) at -= 1;
  const isOdd = (end - at) % 2 === 1;
  return at === from && wasEscaped ? !isOdd : isOdd;
};

/** Where a text ends that goes on at `from`: at its quote, or where the bytes end. `wasEscaped`: what stands at `from` has no meaning. */
const endOfText = (bytes: Buffer, from: number, wasEscaped: boolean): TextEnd => {
  for (let quote = bytes.indexOf(QUOTE, from); quote >= 0; quote = bytes.indexOf(QUOTE, quote + 1))
    if (!isEscapedAt(bytes, from, quote, wasEscaped)) return { end: quote, isClosed: true, isEscaped: false };
  return { end: bytes.length, isClosed: false, isEscaped: isEscapedAt(bytes, from, bytes.length, wasEscaped) };
};

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/**
 * Reads an answer piece by piece and sets its long texts aside. What is no JSON is read as if it were: it has no long texts, or its words
 * are of no use to anybody.
 * @param mostLeft undefined is returned when more than so many bytes are left
 */
export const sift = async (chunks: AsyncIterable<Uint8Array>, mostLeft = MOST_LEFT_BYTES): Promise<Sifted | undefined> => {
  const longTexts = new Map<string, LongText>();
  const mark = crypto.randomUUID();
  const left = openPile();
  let isInText = false;
  let isEscaped = false;
  /** The text that is being read, as long as it is short; of a long one what was not taken yet. */
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
  // No JSON ends within a text: what there is of it is kept as it came.
  endText();
  return left.length() > mostLeft ? undefined : { text: new TextDecoder().decode(left.bytes()), longTexts };
};
