// Processes of the crash tests: starts them, reads their output and kills them.
//
// None outlives the tests.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { childReaper } from "./child-reaper.ts";

const root = join(import.meta.dir, "../../..");

/** The command that starts `genrouter`, before its own arguments. */
export type Genrouter = readonly string[];
export const FROM_SOURCES: Genrouter = [process.execPath, join(root, "src/main.ts")];
export const BINARY: Genrouter = [join(root, "dist/genrouter")];
/** The command for this code: the compiled binary itself, or its sources. */
export const SELF: Genrouter = /^(\/\$bunfs|[a-z]:[\\/]~bun)/i.test(import.meta.dir) ? [process.execPath] : FROM_SOURCES;
/** A file as a separate process. */
export const entry = (path: string): Genrouter => [process.execPath, path];

export type Ended = { code: number | null; signal: string | null };
export type Child = {
  pid: number;
  /** All output so far, from both streams. */
  output(): string;
  /** Waits for output that matches. @throws if the process ends, or after `PATIENCE_MS` without a match. */
  hears(pattern: RegExp): Promise<RegExpExecArray>;
  kill(signal: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT"): void;
  ended: Promise<Ended>;
};

/** A start after two early crashes in a row recovers its generations one by one. */
const PATIENCE_MS = 60_000;
const alive = new Set<{ kill(signal: "SIGKILL"): void }>();
/** Kills all running processes; also called at the exit of this process. */
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
    // An empty HOME would make Bun write its cache to the working directory.
    env: { PATH, TMPDIR, ...(HOME ? { HOME } : {}), ...env },
    // Ctrl-C reaches only the parent, because the tests decide which process ends and when.
    detached: true,
  });
  alive.add(child);
  childReaper.began(child.pid);
  let text = "";
  let isOver = false;
  const listeners = new Set<() => void>();
  const report = () => {
    for (const listener of listeners) listener();
  };
  const receive = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      text += decoder.decode(chunk, { stream: true });
      report();
    }
  };
  const streams = [receive(child.stdout), receive(child.stderr)];
  const ended = child.exited.then(async () => {
    alive.delete(child);
    childReaper.ended(child.pid);
    await Promise.all(streams);
    isOver = true;
    report();
    return { code: child.exitCode, signal: child.signalCode === null ? null : String(child.signalCode) };
  });
  const name = command.slice(1, 4).join(" ");
  return {
    pid: child.pid,
    output: () => text,
    hears: (pattern) =>
      new Promise((found, failed) => {
        const give = (settle: () => void) => {
          listeners.delete(sample);
          clearTimeout(timer);
          settle();
        };
        const sample = () => {
          const match = pattern.exec(text);
          if (match) give(() => found(match));
          else if (isOver) give(() => failed(new Error(`${name} ended without saying ${pattern}:\n${text.slice(-2000)}`)));
        };
        const timer = setTimeout(
          () => give(() => failed(new Error(`${name} did not say ${pattern}:\n${text.slice(-2000)}`))),
          PATIENCE_MS,
        );
        listeners.add(sample);
        sample();
      }),
    kill: (signal) => child.kill(signal),
    ended,
  };
};

/** Runs a command to its end. */
export const run = async (command: readonly string[], env: Record<string, string> = {}): Promise<Ended & { output: string }> => {
  const child = start(command, env);
  return { ...(await child.ended), output: child.output() };
};

const isFree = (port: number) =>
  new Promise<boolean>((report) => {
    const server = createServer();
    server.once("error", () => report(false));
    server.listen(port, "127.0.0.1", () => server.close(() => report(true)));
  });

/** Contains a file for each port that a process has claimed, with the id of the process. */
const CLAIMS = join(tmpdir(), "genrouter-ports");

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (fault) {
    return (fault as NodeJS.ErrnoException).code === "EPERM";
  }
};

/** Claims a port until this process ends. @returns whether no other call has claimed it */
const claimPort = (port: number): boolean => {
  const path = join(CLAIMS, String(port));
  try {
    mkdirSync(CLAIMS, { recursive: true });
    if (existsSync(path) && !isAlive(Number(readFileSync(path, "utf8")))) rmSync(path, { force: true });
    writeFileSync(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (fault) {
    // Without a directory of its own, this process relies on what listens now.
    return (fault as NodeJS.ErrnoException).code !== "EEXIST";
  }
};

/**
 * A port that can be reused after a kill. It is below the range of ephemeral ports. No other call returns it, also of other
 * processes, because its server may start later or be stopped for a while.
 */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (claimPort(port) && (await isFree(port))) return port;
  }
};

/** Repeats `look` until it returns a truthy value. @throws after `patienceMs`. */
export const until = async <T>(
  what: string,
  sample: () => Promise<T | false | undefined> | T | false | undefined,
  patienceMs = PATIENCE_MS,
): Promise<T> => {
  const endMono = performance.now() + patienceMs;
  for (;;) {
    const seen = await sample();
    if (seen) return seen;
    if (performance.now() > endMono) throw new Error(`${what} did not come about within ${patienceMs} ms`);
    await Bun.sleep(10);
  }
};
