// Restart loop for development: runs a service, restarts it when a watched file changes, and has it build its web pages.
import { type FSWatcher, watch } from "node:fs";

export type DevLoopDeps = {
  /** The service. It prints `url ADDRESS` on standard output when it is ready. */
  command: string[];
  /** Watched with everything below them. */
  directories: readonly string[];
  /** Requested after each start: a page is built from its sources by the first request for it. */
  pages: readonly string[];
  /** Says why the pages do not build: the service logs no text of an error. */
  describeFailure: () => Promise<string>;
  /** Takes one line of the loop itself. */
  log: (line: string) => void;
  /** Takes what the service prints on standard output. */
  onOutput: (text: string) => void;
};
export type DevLoop = {
  /** Ends the service, with SIGKILL if it has not drained in time. @returns its exit code */
  stop(signal: "SIGINT" | "SIGTERM"): Promise<number>;
};

/** An editor writes several files at once, and some write one file twice. */
const SETTLE_MS = 150;
/** A service that is ended in the middle of a generation recovers it at its next start. */
const DRAIN_MS = 5000;
/** Files that editors leave beside the one that is edited. */
const IGNORED = /(^|[/\\])(\.|#)|~$|\.sw[a-z]$|\.tmp$/;

export const createDevLoop = ({ command, directories, pages, describeFailure, log, onOutput }: DevLoopDeps): DevLoop => {
  let service: Bun.Subprocess | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let changed = new Set<string>();
  let isStopping = false;
  let work = Promise.resolve();

  const buildPages = async (url: string): Promise<void> => {
    for (const path of pages) {
      const response = await fetch(`${url}${path}`).catch(() => undefined);
      if (response === undefined) return;
      if (!response.ok) return log(`${path} was not built (${response.status}): ${await describeFailure()}`);
    }
    log(`pages built: ${pages.map((path) => `${url}${path}`).join(" ")}`);
  };

  const readOutput = async (from: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    let line = "";
    for await (const chunk of from) {
      const text = decoder.decode(chunk, { stream: true });
      onOutput(text);
      const lines = `${line}${text}`.split("\n");
      line = lines.pop() ?? "";
      for (const each of lines) {
        const url = /^url (\S+)$/.exec(each)?.[1];
        if (url !== undefined) void buildPages(url);
      }
    }
  };

  const start = (): void => {
    const child = Bun.spawn(command, { stdin: "inherit", stdout: "pipe", stderr: "inherit" });
    service = child;
    void readOutput(child.stdout);
    void child.exited.then((code) => {
      if (service === child && !isStopping) log(`the service ended with code ${code}; it starts again after the next change`);
    });
  };

  const end = async (signal: "SIGINT" | "SIGTERM"): Promise<number> => {
    const child = service;
    service = undefined;
    if (child === undefined) return 0;
    child.kill(signal);
    const kill = setTimeout(() => child.kill("SIGKILL"), DRAIN_MS);
    const code = await child.exited;
    clearTimeout(kill);
    return code;
  };

  const restart = async (): Promise<void> => {
    const [first, ...others] = changed;
    changed = new Set();
    if (isStopping) return;
    log(`restart: ${first}${others.length > 0 ? ` and ${others.length} more` : ""} changed`);
    await end("SIGTERM");
    if (!isStopping) start();
  };

  const watchers: FSWatcher[] = directories.map((directory) =>
    watch(directory, { recursive: true }, (_, name) => {
      if (name === null || IGNORED.test(name)) return;
      changed.add(name);
      clearTimeout(timer);
      timer = setTimeout(() => {
        work = work.then(restart);
      }, SETTLE_MS);
    }),
  );
  start();
  return {
    stop: async (signal) => {
      isStopping = true;
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
      const ended = end(signal);
      await work;
      return ended;
    },
  };
};
