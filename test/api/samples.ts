// Media links of the test rows: simulator files of any length and size, and links that are rejected.
import type { Harness } from "../harness.ts";

/** The maximum number of characters of a URL field (§8). */
export const URL_AT_MOST = 4096;

export type Samples = {
  picture: string;
  voice: string;
  clip(seconds: number): string;
  sound(seconds: number): string;
  /** An image whose URL has exactly that many characters. */
  long(characters: number): string;
};

export const samplesOf = (harness: Harness): Samples => {
  const base = `${harness.simulator.url}/samples`;
  const picture = `${base}/picture.png?width=16&height=16`;
  const sound = (seconds: number) => `${base}/voice.wav?seconds=${seconds}`;
  return {
    picture,
    voice: sound(1),
    clip: (seconds) => `${base}/clip.mp4?seconds=${seconds}&width=32&height=32`,
    sound,
    long: (characters) => `${picture}&pad=`.padEnd(characters, "x"),
  };
};

/** Values that no text, link or choice field accepts: of another type, or null. */
export const NO_TEXT = [5, true, null, {}, ["x"]] as const;

/** Links that every URL field rejects without opening them, and a part of the message. */
export const NO_LINKS: readonly (readonly [what: string, url: unknown, says: string])[] = [
  ["empty", "", "empty"],
  ["no URL", "nonsense", "https"],
  ["http", "http://example.com/a.png", "https"],
  ["ftp", "ftp://example.com/a.png", "https"],
  ["a file", "file:///etc/passwd", "https"],
  ["data in the URL", "data:image/png;base64,AAAA", "https"],
  ["another port", "https://example.com:8443/a.png", "443"],
  ["a user name", "https://user@example.com/a.png", "user name"],
  ["white space", "https://example.com/a b.png", "white space"],
  ["a backslash", "https://example.com\\a.png", "backslash"],
  [`${URL_AT_MOST + 1} characters`, `https://example.com/${"x".repeat(URL_AT_MOST - 19)}`, "4096"],
  ["a number", 5, "must be a URL"],
  ["null", null, "null"],
  ["an object", {}, "must be a URL"],
];
