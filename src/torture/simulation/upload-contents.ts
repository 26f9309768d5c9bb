// Contents of uploaded files in a simulated world: few, so that identical bytes are uploaded again.

const text = new TextEncoder();
/** Bytes that are not a clip. */
export const NO_CLIP = text.encode("no media");
/** The length of every result clip. */
export const RESULT_MS = 5_041;

/** A clip of an account; its first words state its length. */
export const clipBytes = (account: number, which: number): Uint8Array => {
  const words = `clip of ${1_000 * (2 + 3 * which + account)} ms `;
  return text.encode(words.padEnd(200 + 700 * which, `${account}`));
};
/** The length of a clip; undefined: the bytes are not a clip. */
export const clipMs = (bytes: Uint8Array): number | undefined => {
  const [, ms] = /^clip of (\d+) ms /.exec(new TextDecoder().decode(bytes.subarray(0, 40))) ?? [];
  return ms === undefined ? undefined : Number(ms);
};
