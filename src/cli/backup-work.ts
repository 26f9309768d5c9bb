// Runs backup work with progress on the terminal and cleanup after Ctrl-C.
import type { Work } from "../backup/worker-client.ts";
import { interruptible, type Session } from "./session.ts";

/** Waits for work in its thread. Ctrl-C cancels the work, which cleans up before this returns. */
export const awaitWork = <T>({ terminal }: Session, begin: (report: (line: string) => void) => Work<T>): Promise<T> =>
  interruptible(async (signal) => {
    const { result, stop } = begin((line) => terminal.progress(line));
    signal.addEventListener("abort", stop);
    try {
      return await result;
    } catch (fault) {
      throw signal.aborted ? signal.reason : fault;
    } finally {
      terminal.progress(null);
    }
  });
