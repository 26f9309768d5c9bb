// Work on backups as a command sees it: progress on the terminal, and a Ctrl-C that lets it clean up first.
import type { Work } from "../backup/worker-client.ts";
import { interruptible, type Session } from "./session.ts";

/** Waits for work in its thread; Ctrl-C ends it, and it cleans up first. */
export const awaitWork = <T>({ terminal }: Session, begin: (tell: (line: string) => void) => Work<T>): Promise<T> =>
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
