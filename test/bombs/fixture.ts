// Fixture of the bombs: a service of one or more nodes, its simulator and accounts, all in separate processes.

import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Child, freePort, type Genrouter, run, start } from "../../src/torture/crash/processes.ts";
import { dropScratch } from "../scratch.ts";

export type Account = { name: string; id: string; key: string };
export type Node = { url: string; child: Child };
export type Place = {
  nodes: Node[];
  simulator: string;
  /** URL of honest files, on a server without other load. */
  samples: string;
  /** URL of the bombs, without a final slash. */
  bombs: string;
  poor: Account;
  rich: readonly [Account, Account];
  /** The account of honest users. */
  honest: Account;
  /** The account whose results are bombs. */
  orderer: Account;
  /** The first node's data directory. */
  dir: string;
  /** Runs `genrouter` with these words on the first node's directory. */
  command: (...words: string[]) => Promise<{ code: number | null; output: string }>;
  roles: (role: string, ...words: string[]) => Child;
  close(): Promise<void>;
};

const PROGRAM = join(import.meta.dir, "main.ts");

/** Starts another role in a separate process, so that no role waits for another's work. */
const role = (name: string, ...words: string[]): Child => start([process.execPath, PROGRAM, "--role", name, ...words]);

/** @param created additional words of `accounts create` */
export const accountOf = async (
  genrouter: Genrouter,
  env: Record<string, string>,
  name: string,
  usd: number,
  ...created: string[]
): Promise<Account> => {
  const said = async (...words: string[]) => {
    const ended = await run([...genrouter, ...words], env);
    if (ended.code !== 0) throw new Error(`genrouter ${words.slice(0, 2).join(" ")} ended with ${ended.code}: ${ended.output}`);
    return ended.output;
  };
  const [id = ""] = /acc_\w+/.exec(await said("accounts", "create", "--name", name, ...created)) ?? [];
  const [key = ""] = /gr_(live|test)_\w+/.exec(await said("keys", "create", "--account", id)) ?? [];
  if (usd > 0) await said("credits", "add", "--account", id, "--usd", String(usd));
  return { name, id, key };
};

/** Opens a database and a bucket that the nodes share. */
const openShared = async (dir: string): Promise<{ env: Record<string, string>; stop(): Promise<unknown> }> => {
  const [{ openServer }, { startBucket }] = await Promise.all([import("../postgres/server.ts"), import("../cluster/bucket.ts")]);
  const [server, bucket] = await Promise.all([openServer(), startBucket(join(dir, "bucket"))]);
  return {
    env: { ...bucket.settings("bombs/"), GENROUTER_STORE__URL: server.url("postgres") },
    stop: () => {
      bucket.child.kill("SIGKILL");
      return server.stop();
    },
  };
};

/** The settings that a simulator prints, which point a service at it. */
const settingsIn = (said: string): Record<string, string> =>
  Object.fromEntries([...said.matchAll(/^(GENROUTER_\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]));

export type PlaceOptions = {
  /** Additional allowed media hosts. */
  allowed?: readonly string[];
  /** The URL of a proxy in front of the simulator. */
  through?: (simulator: string) => string;
  /** Another build that runs the simulator. */
  simulator?: Genrouter;
  /** Additional settings of the service. */
  env?: Record<string, string>;
};

export const openPlace = async (genrouter: Genrouter, count: number, options: PlaceOptions = {}): Promise<Place> => {
  const { allowed = [], through = (url: string) => url } = options;
  const dir = mkdtempSync(join(tmpdir(), "genrouter-bombs-"));
  const shared = count > 1 ? await openShared(dir) : undefined;
  const simulator = start([...(options.simulator ?? genrouter), "simulator", "--port", "0", "--speed", "20"]);
  const [, simulatorUrl = ""] = await simulator.hears(/simulator (http:\S+)\n[\s\S]*GENROUTER_MEDIA__ALLOW=/);
  const library = start([...(options.simulator ?? genrouter), "simulator", "--port", "0"]);
  const [, libraryUrl = ""] = await library.hears(/simulator (http:\S+)\n/);
  const served = role("serve");
  const [, bombs = ""] = await served.hears(/bombs at (\S+)/);
  const leading = settingsIn(simulator.output());
  const addresses = Object.entries(leading).map(([name, value]) => [name, value.replaceAll(simulatorUrl, through(simulatorUrl))]);
  const env = {
    ...Object.fromEntries(addresses),
    ...shared?.env,
    GENROUTER_MEDIA__ALLOW: [
      leading.GENROUTER_MEDIA__ALLOW,
      ...[bombs, libraryUrl, simulatorUrl].map((url) => new URL(url).host),
      ...allowed,
    ].join(","),
    GENROUTER_LIMITS__BURST_PER_S: "100",
    GENROUTER_LOG__LEVEL: "warn",
    ...options.env,
  };
  const nodes: Node[] = [];
  const placeOf = (n: number) => ({ ...env, GENROUTER_DATA__DIR: join(dir, `node-${n}`) });
  for (let n = 0; n < count; n += 1) {
    mkdirSync(join(dir, `node-${n}`));
    const port = await freePort();
    const child = start([...genrouter, "serve", "--port", String(port)], { ...placeOf(n), GENROUTER_LOG__LEVEL: "info" });
    await child.hears(/recovery finished/);
    nodes.push({ url: `http://127.0.0.1:${port}`, child });
  }
  const account = (name: string, usd: number) => accountOf(genrouter, placeOf(0), name, usd);
  const [poor, first, second] = [await account("poor", 0), await account("rich one", 100), await account("rich two", 100)];
  const [honest, orderer] = [await account("honest", 5000), await account("orderer", 50_000)];
  await run([...genrouter, "accounts", "set", orderer.id, "--in-progress", "1000"], placeOf(0));
  return {
    ...{
      nodes,
      simulator: simulatorUrl,
      samples: `${libraryUrl}/samples`,
      bombs,
      poor,
      rich: [first, second] as const,
      honest,
      orderer,
      roles: role,
      dir: join(dir, "node-0"),
    },
    command: (...words) => run([...genrouter, ...words], placeOf(0)),
    close: async () => {
      for (const { child } of nodes) child.kill("SIGTERM");
      const late = setTimeout(() => {
        for (const { child } of nodes) child.kill("SIGKILL");
      }, 20_000);
      await Promise.all(nodes.map(({ child }) => child.ended));
      clearTimeout(late);
      for (const child of [simulator, library, served]) child.kill("SIGKILL");
      await shared?.stop();
      dropScratch(dir);
    },
  };
};
