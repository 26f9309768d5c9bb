// Helper processes of a bench, with commands on standard input and results on standard output, that end with the bench.
import { killAtTheEnd } from "../scratch.ts";

const alive = new Set<ReturnType<typeof Bun.spawn>>();
/** Kills all remaining helpers. */
export const stopAllHeard = (): void => {
  for (const child of alive) child.kill("SIGKILL");
  alive.clear();
};
killAtTheEnd(stopAllHeard);

/** Reads the lines of a process one at a time. */
export const spawnHeard = (words: readonly string[], set: Readonly<Record<string, string>> = {}) => {
  const child = Bun.spawn([...words], {
    ...{ stdin: "pipe", stdout: "pipe", stderr: "inherit" },
    // The same limit of requests in flight as the service's.
    env: { ...process.env, NODE_ENV: "production", BUN_CONFIG_MAX_HTTP_REQUESTS: "4096", ...set },
  });
  alive.add(child);
  const chunks = child.stdout.getReader();
  let said = "";
  const hear = async (): Promise<string> => {
    for (;;) {
      const end = said.indexOf("\n");
      if (end >= 0) {
        const line = said.slice(0, end);
        said = said.slice(end + 1);
        return line;
      }
      const { done, value } = await chunks.read();
      if (done) throw new Error(`${words.slice(-2).join(" ")} ended early`);
      said += new TextDecoder().decode(value);
    }
  };
  const report = (line: string) => {
    void child.stdin.write(`${line}\n`);
    void child.stdin.flush();
  };
  const stop = () => {
    alive.delete(child);
    child.kill("SIGKILL");
  };
  return { pid: child.pid, hear, report, stop };
};
