// Starts the processes of the crash tests, hears what they say, and kills them; none outlives the tests.
import { createServer } from "node:net";
import { join } from "node:path";
import { childReaper } from "./child-reaper.ts";

const root = join(import.meta.dir, "../../..");

/** How `genrouter` is started: the words before its own arguments. */
export type Genrouter = readonly string[];
export const FROM_SOURCES: Genrouter = [process.execPath, join(root, "src/main.ts")];
export const BINARY: Genrouter = [join(root, "dist/genrouter")];
/** What runs this very code: the compiled binary itself, or its sources. */
export const SELF: Genrouter = /^(\/\$bunfs|[a-z]:[\\/]~bun)/i.test(import.meta.dir) ? [process.execPath] : FROM_SOURCES;
/** A file as a process of its own. */
export const entry = (path: string): Genrouter => [process.execPath, path];

export type Ended = { code: number | null; signal: string | null };
export type Child = {
  pid: number;
  /** Everything it has said so far, both streams. */
  said(): string;
  /** Waits until it says something. @throws when it ends, or `PATIENCE_MS` pass, without that. */
  hears(pattern: RegExp): Promise<RegExpExecArray>;
  kill(signal: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT"): void;
  ended: Promise<Ended>;
};

/** A start after two early deaths in a row takes its generations up one by one. */
const PATIENCE_MS = 60_000;
const alive = new Set<{ kill(signal: "SIGKILL"): void }>();
/** Kills what is still running; also done when this process ends. */
export const killAll = (): void => {
  for (const child of alive) child.kill("SIGKILL");
};
process.on("exit", killAll);

export const start = (command: readonly string[], env: Record<string, string> = {}): Child => {
  const { PATH = "", HOME, TMPDIR = "/tmp" } = process.env;
  const child = Bun.spawn([...command], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    // An empty HOME would make Bun keep its cache in the working directory.
    env: { PATH, TMPDIR, ...(HOME ? { HOME } : {}), ...env },
    // A Ctrl-C is for the parent alone: who dies, and when, is what the tests decide.
    detached: true,
  });
  alive.add(child);
  childReaper.began(child.pid);
  let said = "";
  let isOver = false;
  const listeners = new Set<() => void>();
  const tell = () => {
    for (const listener of listeners) listener();
  };
  const hear = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      said += decoder.decode(chunk, { stream: true });
      tell();
    }
  };
  const heard = [hear(child.stdout), hear(child.stderr)];
  const ended = child.exited.then(async () => {
    alive.delete(child);
    childReaper.ended(child.pid);
    await Promise.all(heard);
    isOver = true;
    tell();
    return { code: child.exitCode, signal: child.signalCode === null ? null : String(child.signalCode) };
  });
  const name = command.slice(1, 4).join(" ");
  return {
    pid: child.pid,
    said: () => said,
    hears: (pattern) =>
      new Promise((found, failed) => {
        const give = (settle: () => void) => {
          listeners.delete(look);
          clearTimeout(timer);
          settle();
        };
        const look = () => {
          const match = pattern.exec(said);
          if (match) give(() => found(match));
          else if (isOver) give(() => failed(new Error(`${name} ended without saying ${pattern}:\n${said.slice(-2000)}`)));
        };
        const timer = setTimeout(
          () => give(() => failed(new Error(`${name} did not say ${pattern}:\n${said.slice(-2000)}`))),
          PATIENCE_MS,
        );
        listeners.add(look);
        look();
      }),
    kill: (signal) => child.kill(signal),
    ended,
  };
};

/** Runs a command to its end. */
export const run = async (command: readonly string[], env: Record<string, string> = {}): Promise<Ended & { said: string }> => {
  const child = start(command, env);
  return { ...(await child.ended), said: child.said() };
};

const isFree = (port: number) =>
  new Promise<boolean>((tell) => {
    const server = createServer();
    server.once("error", () => tell(false));
    server.listen(port, "127.0.0.1", () => server.close(() => tell(true)));
  });

/** A port that can be taken again after a kill: below the range that outgoing connections are given theirs from. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await isFree(port)) return port;
  }
};

/** Asks `look` again and again until it says something true. @throws after `patienceMs`. */
export const until = async <T>(
  what: string,
  look: () => Promise<T | false | undefined> | T | false | undefined,
  patienceMs = PATIENCE_MS,
): Promise<T> => {
  const endMono = performance.now() + patienceMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (performance.now() > endMono) throw new Error(`${what} did not come about within ${patienceMs} ms`);
    await Bun.sleep(10);
  }
};
