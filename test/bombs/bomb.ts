// What a bomb is: a file that costs whoever reads it much more than whoever serves it.
import type { Piece } from "./bytes.ts";

export type Bomb = {
  name: string;
  /** What it is sent as. */
  field: "image" | "video" | "audio";
  mime: string;
  /** How it is compressed on its way. */
  encoding?: string;
  /** @param bytes about as large, where it can be as large as one likes. */
  make(bytes: number): Piece[];
};
