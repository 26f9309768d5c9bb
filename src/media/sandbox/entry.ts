// The first thing that a child does: it confines itself and starts this same program over, inside its bounds.
import { type Bounds, confine } from "./confine.ts";

/** What follows the word of a child once it is confined. */
export const CONFINED = "confined";

/**
 * The runtime lays out its memory when it starts, within the bounds that hold by then. To be called before anything is loaded: with one
 * thread a process may give itself a network of its own without any right. Returns only where a process cannot start over.
 * @param words the process that it belongs to, and its bounds
 * @param again the words that start this program over, up to these
 */
export const beginChild = ([parent, words = "{}"]: readonly string[], again: readonly string[]): void => {
  if (process.platform === "win32" || process.execve === undefined) return;
  const { addressBytes, cpuS, openFiles }: Bounds = JSON.parse(words);
  const held = confine({ addressBytes, cpuS, openFiles }, Number(parent));
  const program = process.platform === "linux" ? "/proc/self/exe" : process.execPath;
  process.execve(program, [process.execPath, ...again, CONFINED, JSON.stringify(held)], process.env);
};
