// First step of a sandbox child: confines itself and re-executes this program.
import { type Bounds, confine } from "./confine.ts";

/** The argument that follows the child argument after confinement. */
export const CONFINED = "confined";

/**
 * Re-executes the program after confinement, because the runtime allocates its memory at start, within the limits then in effect.
 * It must be called before other modules are loaded: only a single-threaded process can create a network namespace without
 * privileges. Returns only if the system does not support `execve`.
 * @param words the pid of the parent, and the bounds
 * @param again the arguments that start this program, up to these
 */
export const beginChild = ([parent, words = "{}"]: readonly string[], again: readonly string[]): void => {
  if (process.platform === "win32" || process.execve === undefined) return;
  const { addressBytes, cpuS, openFiles }: Bounds = JSON.parse(words);
  const held = confine({ addressBytes, cpuS, openFiles }, Number(parent));
  const program = process.platform === "linux" ? "/proc/self/exe" : process.execPath;
  process.execve(program, [process.execPath, ...again, CONFINED, JSON.stringify(held)], process.env);
};
