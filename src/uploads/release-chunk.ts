// Releases the memory of the chunks of a body that nothing reads any more.

/**
 * Releases the bytes of a chunk at once. The collector runs rarely, because a chunk is a small object with a large buffer, and a fast
 * upload would leave a hundred megabytes to it.
 */
export const releaseChunk = ({ buffer, byteLength }: Uint8Array): void => {
  // A view of a part may share its buffer with other chunks, and a released chunk has no bytes.
  if (buffer instanceof ArrayBuffer && byteLength > 0 && buffer.byteLength === byteLength) buffer.transfer(0);
};

/**
 * Holds the chunks of a form while its parser reads them. The form has more bytes than its file. So as soon as that many bytes of
 * the file were taken, in their order, no byte of these chunks is read any more.
 */
export const createHeldChunks = () => {
  const held: Uint8Array[] = [];
  let releasedBytes = 0;
  let takenBytes = 0;
  return {
    hold: (chunk: Uint8Array): void => void held.push(chunk),
    taken: (fileBytes: number): void => {
      takenBytes += fileBytes;
      for (let [first] = held; first && releasedBytes + first.byteLength <= takenBytes; [first] = held) {
        releasedBytes += first.byteLength;
        held.shift();
        releaseChunk(first);
      }
    },
  };
};
