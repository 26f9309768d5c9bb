// The first operator of a simulator owns the account with the test credit, which the printed key belongs to.
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { CreditsView } from "../../src/console/credits-dto.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { openDirectory } from "../store/open-store.ts";

afterAll(dropDirs);

const PROGRAM = [process.execPath, join(import.meta.dir, "../../src/main.ts")];
const ENV = { PATH: process.env.PATH ?? "", TERM: "xterm" };

/** Starts the simulator in a terminal, and returns what it printed until it was ready. */
const start = async (dir: string) => {
  const decoder = new TextDecoder();
  const { promise: isStarted, resolve: started } = Promise.withResolvers<void>();
  let said = "";
  const child = Bun.spawn([...PROGRAM, "serve", "--simulate", "--port", "0", "--data", dir], {
    env: ENV,
    terminal: {
      cols: 300,
      data: (_, chunk) => {
        said += decoder.decode(chunk, { stream: true });
        if (/^curl .*\r?\n/m.test(said)) started();
      },
    },
  });
  await Promise.race([isStarted, child.exited]);
  const found = (pattern: RegExp): string => pattern.exec(said)?.[1] ?? "";
  return {
    ...{ url: found(/^url (\S+)\r?\n/m), key: found(/^key (\S+)\r?\n/m), token: found(/setup#([\w-]{43})/) },
    stop: async () => {
      child.kill("SIGTERM");
      await child.exited;
      child.terminal?.close();
    },
  };
};

/** Sets up the first operator by a link, and returns the credits that its console shows. */
const setUp = async (url: string, token: string): Promise<CreditsView> => {
  const answer = await fetch(`${url}/console/api/link/accept`, {
    method: "POST",
    headers: { origin: url, "content-type": "application/json" },
    body: JSON.stringify({ token, email: "ada@example.com", name: "Ada", password: "a long enough password" }),
  });
  expect(answer.status).toBe(200);
  const cookie = answer.headers.getSetCookie().map((line) => line.split(";")[0]);
  const credits = await fetch(`${url}/console/api/credits`, { headers: { cookie: cookie.join("; ") } });
  return (await credits.json()) as CreditsView;
};
const balanceOf = async (url: string, key: string) =>
  (await (await fetch(`${url}/v1/balance`, { headers: { authorization: `Bearer ${key}` } })).json()) as { balance_usd: number };

test.each([
  ["the link that the start prints", (printed: string) => Promise.resolve(printed)],
  [
    "the link of users setup",
    async (_: string, dir: string) => {
      const child = Bun.spawn([...PROGRAM, "users", "setup", "--data", dir], { env: ENV, stdout: "pipe" });
      return (await new Response(child.stdout).text()).trim().split("#")[1] ?? "";
    },
  ],
] as const)(
  "the first operator of a simulator owns the test credit of the printed key: %s",
  async (_, tokenOf) => {
    const dir = freshDir();
    const service = await start(dir);
    const { account, availableCredits } = await setUp(service.url, await tokenOf(service.token, dir));
    expect(availableCredits).toBe(10_000);
    expect(await balanceOf(service.url, service.key)).toMatchObject({ balance_usd: 100 });
    await service.stop();
    const store = await openDirectory({ dir, mode: "test" });
    expect((await store.accounts()).map(({ id }) => id)).toEqual([account.id]);
    await store.close();
  },
  40_000,
);
