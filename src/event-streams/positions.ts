// Positions in the events of an account, as the ids that its stream sends.
//
// An id is the id of the event, if there is one, and the position after it. The position is signed for the account.
import type { Cursors } from "../domain/cursors.ts";

/** A time, and the row number of the generation, which orders equal times. */
export type Start = { atMs: number; seq: number };
/**
 * What a client has: everything up to a transfer of the account, and the starts of generations up to a time. `transferNo`: the
 * number of the transfer in the chain of the account.
 */
export type Position = { transferNo: number; start: Start };

export const isAfter = (a: Start, b: Start): boolean => a.atMs > b.atMs || (a.atMs === b.atMs && a.seq > b.seq);

export type Positions = {
  /** @param eventId null for a position without an event */
  idOf: (accountId: string, eventId: string | null, position: Position) => string;
  /** The position of an id; undefined if this service did not send it to the account. */
  read: (accountId: string, id: string) => Position | undefined;
};

const ID = /^(?:(evt_[0-9a-z_]{1,60})\.)?([0-9a-z]{1,11})\.([0-9a-z]{1,11})\.(cur_\S{1,60})$/;
const RADIX = 36;

export const createPositions = (cursors: Cursors): Positions => {
  const scopeOf = (accountId: string, eventId: string | null, startText: string) =>
    ["events", accountId, eventId ?? "", startText].join("|");
  return {
    idOf: (accountId, eventId, { transferNo, start }) => {
      const startText = `${start.atMs.toString(RADIX)}.${start.seq.toString(RADIX)}`;
      const signed = cursors.sign(scopeOf(accountId, eventId, startText), transferNo);
      return `${eventId === null ? "" : `${eventId}.`}${startText}.${signed}`;
    },
    read: (accountId, id) => {
      const [, eventId = null, at = "", seq = "", signed = ""] = ID.exec(id) ?? [];
      if (signed === "") return undefined;
      const transferNo = cursors.read(scopeOf(accountId, eventId, `${at}.${seq}`), signed);
      if (transferNo === undefined) return undefined;
      return { transferNo, start: { atMs: Number.parseInt(at, RADIX), seq: Number.parseInt(seq, RADIX) } };
    },
  };
};
