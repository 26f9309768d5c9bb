// Defines a bomb: a file that is much more expensive to read than to serve.
import type { Piece } from "./bytes.ts";

export type Bomb = {
  name: string;
  /** The kind of media as which it is sent. */
  field: "image" | "video" | "audio";
  mime: string;
  /** The content encoding. */
  encoding?: string;
  /** @param bytes the approximate size, if the size is variable. */
  make(bytes: number): Piece[];
};
