// A world with power cuts: lifetimes under load that end in a cut, a disk check after each, then quiescence and an audit.

import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { chance } from "../../src/simulator/fault-script.ts";
import { auditAll, type Check } from "../../src/torture/crash/audit.ts";
import { writeCatalogue } from "../../src/torture/crash/catalogue.ts";
import type { ClientPlan } from "../../src/torture/crash/client.ts";
import { readClientLog } from "../../src/torture/crash/client-log.ts";
import {
  endow,
  type ServicePlace,
  type SimulatorPlace,
  spawnService,
  startService,
  startSimulator,
} from "../../src/torture/crash/crash-fixture.ts";
import { type Child, entry, freePort, type Genrouter, start } from "../../src/torture/crash/processes.ts";
import { PROVIDER_FAULT_PLAN } from "../../src/torture/crash/provider-fault-plan.ts";
import { createProviderLog } from "../../src/torture/crash/provider-log.ts";
import { quiesce } from "../../src/torture/crash/quiesce.ts";
import { dropScratch } from "../scratch.ts";
import { type Missing, openLook } from "./check-disk.ts";
import { openPowerDisk } from "./disk.ts";

export type CutsPlan = {
  dir: string;
  cuts: number;
  seed: number;
  /** The binary; it also runs the providers, the client and the final quiescence. */
  genrouter: Genrouter;
  /** What runs as the service, if not the binary. */
  serves?: Genrouter;
  /** Part of the paths whose syncs the disk ignores. */
  deaf?: string;
  say: (line: string) => void;
  /** False: there is no quiescence and no audit, because a control ends when something is lost. */
  isAudited: boolean;
};
export type CutsFigures = {
  cuts: number;
  cutsAtStart: number;
  cutsInDrain: number;
  /** Cuts after which blocks that were never synced were on disk all the same. */
  cutsWithLateBlocks: number;
  /** Cuts that lost written data; `bytesTaken` and `namesTaken` count the loss. */
  cutsThatTook: number;
  /** Cuts before the process had started its own code: nothing was at stake. */
  cutsTooEarly: number;
  bytesTaken: number;
  namesTaken: number;
  acknowledged: number;
  submissions: number;
  files: number;
};
export type CutsEnd = { missing: Missing; checks: Check[]; figures: CutsFigures };

const TENANTS = [...Array<number>(18).fill(1_000_000), 2000, 500];
const WORKERS = 24;
const SPEED = 100;
/** The work of a lifetime before its cut, so that the speed of the machine does not decide the moment; then a short delay. */
const LOGGED_BYTES = [200, 30_000] as const;
const KEPT_FILES = [1, 12] as const;
const LONGEST_LIFE_MS = 5000;
const AFTER_MS = [0, 60] as const;
const LOOK_MS = 10;
const DRAIN_MS = [0, 300] as const;
const BOOT_MS = [10, 400] as const;
/** Shares of the cuts. */
const UNTIL_FILES = 0.5;
const IN_DRAIN = 0.2;
const AT_START = 0.1;
const WITH_LATE_BLOCKS = 0.4;

const startClient = async (path: string, plan: ClientPlan): Promise<Child> => {
  writeFileSync(path, JSON.stringify(plan));
  const child = start([...entry(join(import.meta.dir, "client.ts")), path]);
  await child.hears(/client of/);
  return child;
};

/** Generations with a directory of files, some of which may be incomplete. */
const keptFiles = (dir: string): number => [...new Glob("files/??/*").scanSync({ cwd: dir, onlyFiles: false })].length;

export const runCuts = async (plan: CutsPlan): Promise<CutsEnd> => {
  const { genrouter, serves = genrouter, seed, say } = plan;
  const roll = chance(seed);
  const between = ([from, to]: readonly [number, number]) => from + roll() * (to - from);
  const dir = join(plan.dir, "service");
  mkdirSync(dir, { recursive: true });
  const tenants = await endow(dir, TENANTS);
  const keys = tenants.map(({ key }) => key);
  const simulatorPlace: SimulatorPlace = { port: await freePort(), speed: SPEED, log: join(plan.dir, "simulator.log"), seed };
  const simulator = await startSimulator(genrouter, simulatorPlace);
  await simulator.rule(...PROVIDER_FAULT_PLAN);
  const quiet = { GENROUTER_LOG__LEVEL: "error", GENROUTER_CATALOGUE__DIR: writeCatalogue(join(plan.dir, "catalogue"), true) };
  const place: ServicePlace = { dir, simulatorUrl: simulator.url, speed: SPEED, port: await freePort(), env: quiet };
  const url = `http://127.0.0.1:${place.port}`;
  const client: ClientPlan = { urls: [url], log: join(plan.dir, "client.log"), seed, workers: WORKERS, keys, round: 0 };
  const disk = openPowerDisk(dir, say, plan.deaf);
  const plugged = (): ServicePlace => ({ ...place, env: { ...quiet, ...disk.plug() } });
  const submissions = createProviderLog(simulatorPlace.log);
  const look = openLook(dir, tenants);
  const missing: Missing = { acknowledged: [], ends: [], journal: [], files: [], invariants: [] };
  const figures: CutsFigures = {
    ...{ cuts: 0, cutsAtStart: 0, cutsInDrain: 0, cutsWithLateBlocks: 0, cutsThatTook: 0, cutsTooEarly: 0 },
    ...{ bytesTaken: 0, namesTaken: 0, acknowledged: 0, submissions: 0, files: 0 },
  };

  const cut = async (child: Child): Promise<void> => {
    child.kill("SIGKILL");
    const { code, signal } = await child.ended;
    if (signal !== "SIGKILL" && code !== 0)
      throw new Error(`the service exited with ${signal ?? code}:\n${child.output().slice(-3000)}`);
    const late = roll() < WITH_LATE_BLOCKS ? roll() : 0;
    const loss = disk.cut(late, roll);
    const seen = await look({ client: readClientLog(client.log), submissions: submissions.fresh() });
    for (const name of ["acknowledged", "ends", "journal", "files", "invariants"] as const)
      missing[name].push(...seen[name].map((fault) => `cut ${figures.cuts + 1}: ${fault}`));
    figures.cuts += 1;
    figures.cutsWithLateBlocks += late > 0 ? 1 : 0;
    figures.cutsTooEarly += loss.isEarly ? 1 : 0;
    figures.cutsThatTook += loss.bytes + loss.names > 0 ? 1 : 0;
    figures.bytesTaken += loss.bytes;
    figures.namesTaken += loss.names;
    figures.acknowledged = seen.checked.acknowledged;
    figures.submissions += seen.checked.submissions;
    figures.files += seen.checked.files;
  };

  /** Waits until the clients received enough responses, or enough files were stored. */
  const live = async (): Promise<void> => {
    const isForFiles = roll() < UNTIL_FILES;
    const count = () => (isForFiles ? keptFiles(dir) : statSync(client.log).size);
    const wanted = count() + between(isForFiles ? KEPT_FILES : LOGGED_BYTES);
    const endMono = performance.now() + LONGEST_LIFE_MS;
    while (count() < wanted && performance.now() < endMono) await Bun.sleep(LOOK_MS);
    await Bun.sleep(between(AFTER_MS));
  };

  const load = await startClient(join(plan.dir, "client.json"), client);
  const isWhole = () => Object.values(missing).every((faults) => faults.length === 0);
  while (figures.cuts < plan.cuts && isWhole()) {
    if (roll() < AT_START) {
      const booting = spawnService(serves, plugged());
      await Bun.sleep(between(BOOT_MS));
      await cut(booting);
      figures.cutsAtStart += 1;
      continue;
    }
    const { child } = await startService(serves, plugged());
    await live();
    if (roll() < IN_DRAIN) {
      child.kill("SIGTERM");
      figures.cutsInDrain += 1;
      await Bun.sleep(between(DRAIN_MS));
    }
    await cut(child);
    if (figures.cuts % 5 === 0)
      say(`cut ${figures.cuts}: ${figures.acknowledged} acknowledged, ${figures.files} files, ${figures.bytesTaken} bytes taken`);
  }
  load.kill("SIGTERM");
  const { code } = await load.ended;
  if (code !== 0) throw new Error(`the client ended with ${code}:\n${load.output()}`);
  simulator.child.kill("SIGKILL");
  await simulator.child.ended;
  const checks: Check[] = [];
  if (plan.isAudited && isWhole()) {
    const peace = await quiesce({ genrouter, places: [place], simulatorPlace, tenants, client });
    const { stored, shown, balances } = peace;
    checks.push(
      ...auditAll({ tenants, client: peace.client, submissions: submissions.all(), stored, shown, balances }),
      ...peace.checks,
    );
  }
  if (!plan.isAudited || (isWhole() && checks.every(({ faults }) => faults.length === 0))) dropScratch(plan.dir);
  else say(`kept for a look: ${plan.dir}`);
  return { missing, checks, figures };
};
