// Ids of generations, which contain their row number, other ids, and API keys.
import { createHash, randomBytes } from "node:crypto";

/** Crockford's base 32 in lower case: no i, l, o, u. */
const BASE32 = "0123456789abcdefghjkmnpqrstvwxyz";
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** 2026-01-01T00:00:00Z: row numbers count from here, so that 2^53 is reached in the year 2095. */
const SEQ_EPOCH_MS = 1_767_225_600_000;
const SEQ_PER_MS = 4096;
const SEQ_CHARS = 11;
const RANDOM_CHARS = 10;

/** Number of id ranges; each node of a cluster uses one. */
export const SLOTS = 64;

/** Monotonic row numbers. */
export type Numbers = { next(nowMs: number): number /** None is given up to this one. */; continueAfter(seq: number): void };

/**
 * Row numbers: (ms since 2026)·4096 + counter, never 0, because a hold is the transfer with the negative number of its
 * generation. They rise even if the clock stops or goes back; an overflow continues in the next
 * millisecond. With a `slot`, only every 64th number is used, so that 64 nodes never create the same one.
 */
export const createSequence = (slot: number | null = null): Numbers => {
  const [first, step] = slot === null ? [0, 1] : [slot, SLOTS];
  let last = first;
  const least = (seq: number): number => Math.ceil((seq - first) / step) * step + first;
  return {
    next: (nowMs) => {
      last = Math.max(least(generationSeqAt(nowMs)), last + step);
      return last;
    },
    continueAfter: (seq) => {
      last = Math.max(last, least(seq));
    },
  };
};

/** Lower bound of the row numbers of generations submitted at or after a time. */
export const leastSeqAt = (ms: number): number => Math.max(0, ms - SEQ_EPOCH_MS) * SEQ_PER_MS;

/** Creation time of a row number in milliseconds since 1970. */
export const msOfGenerationSeq = (seq: number): number => Math.floor(seq / SEQ_PER_MS) + SEQ_EPOCH_MS;

/** The smallest row number of a moment; all earlier ones are smaller. */
export const generationSeqAt = (ms: number): number => Math.max(0, Math.floor(ms) - SEQ_EPOCH_MS) * SEQ_PER_MS;

const ID_PREFIX = "gen_";
/** Ten bits as two characters, so that an id consists of half as many pieces. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => BASE32.charAt(bits >> 5) + BASE32.charAt(bits & 31));

/** The last four characters of a row number; the others change four times a second and are cached. */
const LAST = 32 ** 4;
let begun = Number.NaN;
let beginning = "";
const beginningOf = (high: number): string => {
  if (high === begun) return beginning;
  let text = "";
  let rest = high;
  for (let i = 0; i < (SEQ_CHARS - 4 - 1) / 2; i += 1) {
    text = PAIRS[rest % 1024] + text;
    rest = Math.floor(rest / 1024);
  }
  begun = high;
  beginning = ID_PREFIX + BASE32.charAt(rest) + text;
  return beginning;
};

/** Pool of random character pairs: one system call per 409 ids. */
let pool = new Uint16Array(0);
let poolAt = 0;

/** `RANDOM_CHARS` random characters (50 bits). */
const randomText = (): string => {
  if (poolAt + RANDOM_CHARS / 2 > pool.length) {
    pool = crypto.getRandomValues(new Uint16Array(2045));
    poolAt = 0;
  }
  let text = "";
  for (let i = 0; i < RANDOM_CHARS; i += 2) text += PAIRS[(pool[poolAt++] ?? 0) & 1023];
  return text;
};

/**
 * A new id for a row number: `gen_`, the number as 11 characters, and 10 random characters (50 bits) that make it unguessable.
 */
export const generationId = (seq: number): string => {
  const last = seq % LAST;
  return `${beginningOf((seq - last) / LAST)}${PAIRS[last >> 10]}${PAIRS[last & 1023]}${randomText()}`;
};

export type NameGeneration = (nowMs: number) => { seq: number; id: string };

/**
 * Creates row numbers and ids of new generations, above all existing ones and inside the range of a node.
 * @param newestSeq The highest row number of a stored generation; 0 if there is none.
 */
export const createGenerationNames = (slot: number | null, newestSeq: number): NameGeneration => {
  const numbers = createSequence(slot);
  numbers.continueAfter(newestSeq);
  return (nowMs) => {
    const seq = numbers.next(nowMs);
    return { seq, id: generationId(seq) };
  };
};

const ID_CHARS = ID_PREFIX.length + SEQ_CHARS + RANDOM_CHARS;
/** Value of each base 32 character by its code; others have no value. A poll reads 21 of them. */
const VALUES = new Int8Array(128).fill(-1);
for (const [value, char] of [...BASE32].entries()) VALUES[char.charCodeAt(0)] = value;

/** The row number of a generation id; undefined if malformed. The row decides whether the id exists. */
export const seqOfGenerationId = (id: string): number | undefined => {
  if (id.length !== ID_CHARS || !id.startsWith(ID_PREFIX)) return undefined;
  let seq = 0;
  for (let at = ID_PREFIX.length; at < ID_CHARS; at += 1) {
    const value = VALUES[id.charCodeAt(at)] ?? -1;
    if (value < 0) return undefined;
    if (at < ID_PREFIX.length + SEQ_CHARS) seq = seq * 32 + value;
  }
  return Number.isSafeInteger(seq) ? seq : undefined;
};

const DELIVERY_ID = new RegExp(`^whd_([${BASE32}]{${SEQ_CHARS}})([${BASE32}]{${RANDOM_CHARS}})$`);

/** The random end of a delivery's id, which makes it unguessable. */
export const newDeliveryToken = randomText;

/** The id of a webhook delivery: its row number and its token. */
export const deliveryId = (seq: number, token: string): string => {
  let text = "";
  let rest = seq;
  for (let i = 0; i < SEQ_CHARS; i++) {
    text = BASE32.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return `whd_${text}${token}`;
};

/** Row number and token of the id of a webhook delivery; undefined if malformed. */
export const readDeliveryId = (id: string): { seq: number; token: string } | undefined => {
  const [, digits, token] = DELIVERY_ID.exec(id) ?? [];
  if (digits === undefined || token === undefined) return undefined;
  let seq = 0;
  for (const char of digits) seq = seq * 32 + BASE32.indexOf(char);
  return Number.isSafeInteger(seq) ? { seq, token } : undefined;
};

/**
 * A new id of an account, key, request, ledger line, user, session, invitation, purchase, uploaded file, stored blob, resumable
 * upload, lock or webhook endpoint: a UUIDv7 as 26 characters, so ids sort by time.
 */
export const newId = (
  kind: "acc" | "key" | "req" | "led" | "per" | "ses" | "inv" | "pur" | "file" | "blob" | "upl" | "lock" | "whe",
): string => {
  let bits = 0n;
  for (const byte of Bun.randomUUIDv7("buffer")) bits = (bits << 8n) | BigInt(byte);
  let text = "";
  for (let i = 0; i < 26; i++) {
    text = BASE32.charAt(Number(bits & 31n)) + text;
    bits >>= 5n;
  }
  return `${kind}_${text}`;
};

const base62 = (value: bigint, chars: number): string => {
  let text = "";
  let rest = value;
  for (let i = 0; i < chars; i++) {
    text = BASE62.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
};

const BODY_CHARS = 43;
const TAIL_CHARS = 6;
const API_KEY = new RegExp(`^gr_(?:live|test)_[0-9A-Za-z]{${BODY_CHARS + TAIL_CHARS}}$`);
/** Length of an API key in characters. */
export const API_KEY_CHARS = "gr_live_".length + BODY_CHARS + TAIL_CHARS;
const tailOf = (body: string): string => base62(BigInt(Bun.hash.crc32(body)), TAIL_CHARS);

/** A new API key: `gr_live_` or `gr_test_`, 32 random bytes as 43 characters of base 62, and a CRC-32 of 6 characters. */
export const newApiKey = (mode: "live" | "test"): string => {
  const body = `gr_${mode}_${base62(BigInt(`0x${randomBytes(32).toString("hex")}`), BODY_CHARS)}`;
  return body + tailOf(body);
};

/** Whether a text is a well-formed key: the checksum detects a typing error without a database read. */
export const isWellFormedApiKey = (text: string): boolean =>
  API_KEY.test(text) && tailOf(text.slice(0, -TAIL_CHARS)) === text.slice(-TAIL_CHARS);

/** The stored form of a key: SHA-256 in hex. A key has 256 random bits, so no slow hash is needed. */
export const hashApiKey = (key: string): string => createHash("sha256").update(key).digest("hex");

/** A new token of a session or a link: 32 random bytes as 43 characters. */
export const newToken = (): string => randomBytes(32).toString("base64url");

/** What is stored of a token: its SHA-256, hex, as of a key. */
export const hashToken = (token: string): string => createHash("sha256").update(token).digest("hex");

/** Whether a mark holds a reference, by itself or in an address: that of the first attempt is not in that of the twelfth. */
export const holdsRef = (mark: string, ref: string): boolean => {
  for (let at = mark.indexOf(ref); at >= 0; at = mark.indexOf(ref, at + 1))
    if (!/[0-9A-Za-z]/.test(mark.charAt(at - 1)) && !/[0-9A-Za-z]/.test(mark.charAt(at + ref.length))) return true;
  return false;
};
