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
export const MOST_LEFT_BYTES = 4 * 1024 * 1024;
/** After so long everything else has its turn, ms. */
const TURN_MS = 5;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The length of `\uXXXX`. */
const LONGEST_ESCAPE = 6;

/** A base64 text has no more than two of them, at its end. */
const FILLER = "=";

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
      const open = /\\(?:u[0-9a-fA-F]{0,3})?$/.exec(said.slice(-LONGEST_ESCAPE));
      const isOpen = open !== null && (/\\*$/.exec(said.slice(0, said.length - open[0].length))?.[0].length ?? 0) % 2 === 0;
      const whole = isOpen && open ? said.slice(0, said.length - open[0].length) : said;
      rest = isOpen && open ? open[0] : "";
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

/** Whether as many backslashes stand at the end of these bytes as take the meaning from what follows. */
const endsEscaped = (bytes: Uint8Array, wasEscaped: boolean): boolean => {
  let count = 0;
  while (count < bytes.length && bytes[bytes.length - 1 - count] === BACKSLASH) count += 1;
  const isOdd = count % 2 === 1;
  return count === bytes.length && wasEscaped ? !isOdd : isOdd;
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
  const left: Uint8Array[] = [];
  let leftBytes = 0;
  let isInText = false;
  let isEscaped = false;
  /** The text that is being read: its pieces as long as it is short. */
  let short: Uint8Array[] = [];
  let shortBytes = 0;
  let long: ReturnType<typeof openLong> | undefined;
  const keep = (bytes: Uint8Array) => {
    left.push(bytes);
    leftBytes += bytes.length;
  };
  const endText = () => {
    if (long) {
      const word = `[text ${longTexts.size + 1} of ${mark}]`;
      longTexts.set(word, long.end());
      keep(Buffer.from(word));
      long = undefined;
    } else for (const bytes of short) keep(bytes);
    short = [];
    shortBytes = 0;
  };
  const addText = (bytes: Uint8Array) => {
    if (long) return long.add(bytes);
    short.push(bytes);
    shortBytes += bytes.length;
    if (shortBytes <= LONG_BYTES) return;
    long = openLong();
    for (const earlier of short) long.add(earlier);
    short = [];
  };

  let turnEndsAt = performance.now() + TURN_MS;
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let at = 0; at < bytes.length; ) {
      const found = bytes.indexOf(QUOTE, at);
      const end = found < 0 ? bytes.length : found;
      const part = bytes.subarray(at, end);
      if (!isInText) {
        keep(part);
        if (found >= 0) {
          keep(bytes.subarray(found, found + 1));
          isInText = true;
          isEscaped = false;
        }
      } else {
        if (part.length > 0) {
          isEscaped = endsEscaped(part, isEscaped);
          addText(part);
        }
        if (found >= 0 && isEscaped) {
          addText(bytes.subarray(found, found + 1));
          isEscaped = false;
        } else if (found >= 0) {
          endText();
          keep(bytes.subarray(found, found + 1));
          isInText = false;
        }
      }
      at = found < 0 ? bytes.length : found + 1;
      if (leftBytes > mostLeft) return undefined;
    }
    if (performance.now() < turnEndsAt) continue;
    await turn();
    turnEndsAt = performance.now() + TURN_MS;
  }
  // No JSON ends within a text: what there is of it is kept as it came.
  endText();
  return leftBytes > mostLeft ? undefined : { text: new TextDecoder().decode(Buffer.concat(left)), longTexts };
};
