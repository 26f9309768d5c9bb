// Runs the service in a separate process that a test can call, kill and restart on the same directory.
import { PROGRAM } from "../built.ts";

const PATIENCE_MS = 60_000;

export const eventually = async <T>(
  look: () => Promise<T | false | undefined> | T | false | undefined,
  what: string,
): Promise<T> => {
  for (const endMono = performance.now() + PATIENCE_MS; performance.now() < endMono; ) {
    const seen = await look();
    if (seen) return seen;
    await new Promise((wake) => setTimeout(wake, 20));
  }
  throw new Error(`timed out waiting for ${what}`);
};

export const startService = async (dir: string, env: Record<string, string>, command: readonly string[] = PROGRAM) => {
  const child = Bun.spawn([...command, "serve", "--simulate", "--port", "0", "--data", dir], {
    env: { PATH: process.env.PATH ?? "", GENROUTER_LIMITS__BURST_PER_S: "100000", ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const said = { out: "", err: "" };
  const hear = async (stream: ReadableStream<Uint8Array>, to: keyof typeof said) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) said[to] += decoder.decode(chunk, { stream: true });
  };
  void hear(child.stdout, "out");
  void hear(child.stderr, "err");
  await eventually(() => child.exitCode !== null || said.out.includes("curl "), "the start");
  const url = /^url (\S+)$/m.exec(said.out)?.[1];
  const key = /^key (\S+)$/m.exec(said.out)?.[1];
  if (url === undefined || key === undefined) throw new Error(`the service did not start: ${said.out}${said.err}`);
  const ask = async (
    method: string,
    path: string,
    more: { body?: unknown; headers?: Record<string, string>; key?: string | null } = {},
  ) => {
    const { body, headers = {}, key: own = key } = more;
    const answer = await fetch(url + path, {
      method,
      redirect: "manual",
      headers: { ...(own === null ? {} : { authorization: `Bearer ${own}` }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  return {
    url,
    key,
    said,
    ask,
    submit: async (model: string, input: object, headers: Record<string, string> = {}): Promise<string> => {
      const { status, text } = await ask("POST", "/v1/generations", { body: { model, input }, headers });
      if (status !== 202) throw new Error(`submission answered ${status} ${text}`);
      return (JSON.parse(text) as { id: string }).id;
    },
    until: (id: string) =>
      eventually(async () => {
        const shown = JSON.parse((await ask("GET", `/v1/generations/${id}`)).text) as {
          status: string;
          attempts: number;
          cost_usd: number | null;
        };
        return ["succeeded", "failed"].includes(shown.status) && shown;
      }, `the end of ${id}`),
    kill: async () => {
      child.kill("SIGKILL");
      await child.exited;
    },
    /** Stops it as a service manager does. @returns the exit code */
    stop: async (): Promise<number> => {
      child.kill("SIGTERM");
      return await child.exited;
    },
  };
};
export type Running = Awaited<ReturnType<typeof startService>>;
