// Contents of uploads: sounds that follow from account and number.
import { chance } from "../../src/simulator/fault-script.ts";
import { largeSound } from "./large-sound.ts";

const KB = 1024;
const SIZE_BYTES = [20 * KB, 300 * KB] as const;
/** Share of larger contents. */
const LARGE = 0.05;
const LARGE_BYTES = 1500 * KB;
/** The first contents of an account are uploaded again and again, so that files share their bytes. */
export const SHARED_CONTENTS = 4;

export const contentOf = (seed: number, account: number, content: number): Buffer => {
  const own = (Math.imul(seed, 1_000_003) + account * 100_003 + content) >>> 0;
  const roll = chance(own);
  const [least, most] = SIZE_BYTES;
  const bytes = roll() < LARGE ? LARGE_BYTES : Math.floor(least + roll() * (most - least));
  return largeSound(bytes - (bytes % 2), own + 1);
};
export const sha256Of = (bytes: Uint8Array): string => Bun.SHA256.hash(bytes, "hex");
