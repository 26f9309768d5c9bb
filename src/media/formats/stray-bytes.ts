// What stands beside the frames of sound that has no container: too much of it, and a decoder may take the file for something else.

/** Frames in sequence at the very beginning of a stream, by which decoders tell what it is. */
const SURE_FRAMES = 8;
/** What may stand beside them where decoders are sure, and where they are not: these bytes, and this part of the frames. */
const FEW = { sure: { bytes: 65_536, share: 0.1 }, unsure: { bytes: 4096, share: 0.01 } };
const FEW_OF_PACKETS = { bytes: 64, share: 0.01 };

/** Whether packets that no reader understands are so large a part of all that their sound matters. */
export const isMuch = (bytes: number, ofBytes: number): boolean => bytes > FEW_OF_PACKETS.bytes + ofBytes * FEW_OF_PACKETS.share;

/** Counts frames and the bytes beside them; zeros are padding, and tags are no garbage to players of sound. */
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
    /** Whether a decoder may find sound of another kind in it. */
    isUncounted: () => {
      const isSure = inSequence >= SURE_FRAMES;
      const few = isSure ? FEW.sure : FEW.unsure;
      return besides + (isSure ? 0 : tags) > few.bytes + bytes * few.share;
    },
  };
};
