// Signed cursors of lists: positions that a client can return but neither read nor make up.
import { timingSafeEqual } from "node:crypto";

export type Cursors = {
  /** @param scope the list: its kind, the caller and all filters. The cursor is valid for this list only. */
  sign(scope: string, position: number): string;
  /** The position of a cursor; undefined if this service did not sign it for this list. */
  read(scope: string, cursor: string): number | undefined;
};

const CURSOR = /^cur_(-?[0-9a-z]{1,11})_([A-Za-z0-9_-]{22})$/;
const RADIX = 36;
const MAC_CHARS = 22;

/** @param secretHex persistent key, at least 32 bytes in hex; nodes of a cluster share it */
export const createCursors = (secretHex: string): Cursors => {
  const secret = Buffer.from(secretHex, "hex");
  const macOf = (scope: string, position: string): string =>
    new Bun.CryptoHasher("sha256", secret).update(`1|${position}|${scope}`).digest("base64url").slice(0, MAC_CHARS);
  return {
    sign: (scope, position) => {
      const text = position.toString(RADIX);
      return `cur_${text}_${macOf(scope, text)}`;
    },
    read: (scope, cursor) => {
      const [, text = "", mac = ""] = CURSOR.exec(cursor) ?? [];
      if (text === "" || !timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(scope, text)))) return undefined;
      return Number.parseInt(text, RADIX);
    },
  };
};
