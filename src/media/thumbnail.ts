// Creates thumbnails of pictures in the sandbox.
import { refuse } from "../domain/api-errors.ts";
import { Unreadable } from "./byte-source.ts";
import { Busy, inMemory, type Sandbox } from "./sandbox/sandbox.ts";

/** Creates a WebP of a picture that fits into a square. @throws ApiError */
export type Thumbnail = (picture: Uint8Array, sidePx: number, account: string) => Promise<Uint8Array<ArrayBuffer>>;

/** Larger pictures are not opened for a thumbnail. */
const MAX_PIXELS = 40_000_000;
const MAX_BYTES = 2 * 1024 * 1024;
/** Maximum wait of a page for a sandbox child, ms. */
const WAIT_MS = 10_000;

export const createThumbnail = (sandbox: Pick<Sandbox, "run">): Thumbnail => {
  const never = new AbortController().signal;
  return async (picture, sidePx, account) => {
    let made = new Uint8Array(0);
    const sink = {
      mostBytes: MAX_BYTES,
      write: async (place: number, bytes: Uint8Array) => {
        if (place + bytes.length > made.length) {
          const longer = new Uint8Array(place + bytes.length);
          longer.set(made);
          made = longer;
        }
        made.set(bytes, place);
      },
    };
    const requested = { source: inMemory([picture]), sink, who: { share: "page", account }, signal: never, waitMs: WAIT_MS };
    await sandbox.run("thumbnail", { sidePx, mostPixels: MAX_PIXELS }, requested).catch((fault: unknown) => {
      if (fault instanceof Busy) return refuse("busy", "Too many thumbnails are being created; reload the page.");
      if (fault instanceof Unreadable) return refuse("not_found", "No thumbnail can be created from this file.");
      throw fault;
    });
    return made;
  };
};
