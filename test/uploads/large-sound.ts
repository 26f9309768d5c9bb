// A sound file of any size: a WAV of 16 bit mono whose samples follow from a seed.

/** @param bytes size of the file, even */
export const largeSound = (bytes: number, seed: number): Buffer => {
  const file = Buffer.alloc(bytes);
  file.write("RIFF", 0, "latin1");
  file.writeUInt32LE(bytes - 8, 4);
  file.write("WAVEfmt ", 8, "latin1");
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(48_000, 24);
  file.writeUInt32LE(96_000, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36, "latin1");
  file.writeUInt32LE(bytes - 44, 40);
  let state = seed >>> 0 || 1;
  for (let at = 44; at + 1 < bytes; at += 2) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    file.writeUInt16LE(state >>> 16, at);
  }
  return file;
};
