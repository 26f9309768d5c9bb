// Starts Redis for BullMQ with a synced append-only file, from this machine or downloaded by apt.
import { existsSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { freePort, run } from "../../../src/torture/crash/processes.ts";
import { dropScratch, killAtTheEnd, makeScratch } from "../../scratch.ts";
import { NoPeer } from "../bench.ts";
import { onServerCore } from "../machine.ts";
import { PEERS } from "./packages.ts";
import { dropping, isListening, type Server, startPart } from "./parts.ts";

const SETTINGS = {
  ...{ appendonly: "yes", appendfsync: "always", save: "", bind: "127.0.0.1", "maxmemory-policy": "noeviction" },
  // Disabled, because a rewrite of the file within a round would disturb the measurement.
  "auto-aof-rewrite-percentage": "0",
};

const FETCHED = join(PEERS, "redis");
type Redis = { program: string; env: Record<string, string> };

/** Downloads the package and its dependencies, and unpacks them beside the other peers without installing them. */
const fetchRedis = async (report: (line: string) => void): Promise<void> => {
  if (existsSync(FETCHED)) return;
  if (Bun.which("apt-get") === null || Bun.which("dpkg") === null)
    throw new NoPeer("no redis-server here, no package of npm has its binary, and there is no apt-get to fetch it with");
  const aside = `${FETCHED}-${process.pid}`;
  killAtTheEnd(() => dropScratch(aside));
  const [archives, lists, root] = ["archives", "lists", "root"].map((name) => join(aside, name)) as [string, string, string];
  for (const dir of [join(archives, "partial"), join(lists, "partial"), root]) mkdirSync(dir, { recursive: true });
  try {
    report("fetching redis-server with apt-get, once …");
    const options = ["-qq", "-o", "Debug::NoLocking=1", "-o", `Dir::Cache::archives=${archives}`];
    const wanted = ["-y", "install", "--download-only", "--no-install-recommends", "redis-server"];
    const ownLists = ["-o", `Dir::State::lists=${lists}`];
    let got = await run(["apt-get", ...options, ...wanted]);
    if (got.code !== 0) {
      // A fresh machine has no package lists, or old ones.
      await run(["apt-get", ...options, ...ownLists, "update"]);
      got = await run(["apt-get", ...options, ...ownLists, ...wanted]);
    }
    if (got.code !== 0) throw new NoPeer(`redis-server cannot be fetched: ${got.output.trim().slice(-400)}`);
    for (const name of readdirSync(archives).filter((name) => name.endsWith(".deb"))) {
      const unpacked = await run(["dpkg", "-x", join(archives, name), root]);
      if (unpacked.code !== 0) throw new NoPeer(`redis-server cannot be unpacked: ${unpacked.output.trim().slice(-400)}`);
    }
    renameSync(root, FETCHED);
  } finally {
    dropScratch(aside);
  }
};

const findRedis = async (report: (line: string) => void): Promise<Redis> => {
  const known = Bun.which("redis-server") ?? Bun.which("valkey-server");
  if (known !== null) return { program: known, env: {} };
  await fetchRedis(report);
  const libraries = join(FETCHED, "usr/lib");
  const places = [libraries, ...readdirSync(libraries).map((name) => join(libraries, name))];
  return { program: join(FETCHED, "usr/bin/redis-server"), env: { LD_LIBRARY_PATH: places.join(":") } };
};

export const startRedis = async (report: (line: string) => void): Promise<Server> => {
  const { program, env } = await findRedis(report);
  // `Redis server v=7.0.15 …`, `Valkey server v=8.1.1 …`
  const { output: said } = await run([program, "--version"], env);
  const [, name = "Redis", version = "of no known version"] = /^(\w+) server v=(\S+)/m.exec(said) ?? [];
  const server = `${name} ${version}`;
  report(`${server}, ${program}`);
  const home = makeScratch("bench-redis-");
  const port = await freePort();
  const settings = Object.entries({ ...SETTINGS, port: String(port), dir: home }).flatMap(([name, value]) => [
    `--${name}`,
    value,
  ]);
  const part = await startPart(server, {
    words: onServerCore([program, ...settings]),
    env,
    port,
    isUp: () => isListening(port),
  });
  return { ...dropping(part, home), server };
};
