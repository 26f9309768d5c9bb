// Counts bytes between the frames of raw audio that may change a decoder's format detection.

/** This many consecutive frames at the beginning identify the format to decoders. */
const SURE_FRAMES = 8;
/** Allowed stray bytes and share of the frames, if the format is certain and if not. */
const FEW = { sure: { bytes: 65_536, share: 0.1 }, unsure: { bytes: 4096, share: 0.01 } };
const FEW_OF_PACKETS = { bytes: 64, share: 0.01 };

/** Reports whether unparsed packets are such a large part that their sound matters. */
export const isMuch = (bytes: number, ofBytes: number): boolean => bytes > FEW_OF_PACKETS.bytes + ofBytes * FEW_OF_PACKETS.share;

/** Counts frames and stray bytes. Zeros are padding, and players do not treat tags as garbage. */
export const createStrayBytes = () => {
  let [inSequence, bytes, besides, tags] = [0, 0, 0, 0];
  let isFirstRun = true;
  return {
    frame: (length: number) => {
      bytes += length;
      if (isFirstRun) inSequence++;
    },
    stray: (byte: number) => {
      if (byte === 0) return;
      isFirstRun = false;
      besides++;
    },
    tag: (length: number) => {
      isFirstRun = false;
      tags += length;
    },
    /** Reports whether a decoder may detect another audio format. */
    isUncounted: () => {
      const isSure = inSequence >= SURE_FRAMES;
      const few = isSure ? FEW.sure : FEW.unsure;
      return besides + (isSure ? 0 : tags) > few.bytes + bytes * few.share;
    },
  };
};
