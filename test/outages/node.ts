// Supervises a node by the rules of the shipped unit: restarts it as systemd does and records every process.

import { type ServicePlace, spawnService } from "../../src/torture/crash/crash-fixture.ts";
import type { Child, Ended, Genrouter } from "../../src/torture/crash/processes.ts";
import { until } from "../../src/torture/crash/processes.ts";
import { openProbe, type Probe } from "./probe.ts";
import type { Restarts } from "./unit.ts";

export type Life = { pid: number; fromMs: number; toMs: number; end: Ended | null; wasSignalled: boolean; said: () => string };
export type SupervisedNode = {
  url: string;
  place: ServicePlace;
  probe: Probe;
  lives: readonly Life[];
  /** Why the supervisor no longer restarts the node, or undefined. */
  givenUp(): string | undefined;
  begin(): void;
  /** Waits until /readyz returns 200. @throws after `patienceMs`, with the end of the node's output */
  ready(patienceMs: number): Promise<void>;
  /** Stops the node without a restart. */
  stop(): Promise<void>;
};

const SAID = 2000;

export const superviseNode = (genrouter: Genrouter, place: ServicePlace, restarts: Restarts): SupervisedNode => {
  const url = `http://127.0.0.1:${place.port}`;
  const lives: Life[] = [];
  let present: Child | undefined;
  let isSignalled = false;
  let running: Promise<void> | undefined;
  let givenUp: string | undefined;
  let probe: Probe | undefined;

  const isOverLimit = (): boolean => {
    const { limit } = restarts;
    if (limit === null) return false;
    return lives.filter(({ fromMs }) => fromMs > Date.now() - limit.withinMs).length >= limit.starts;
  };
  const live = async (): Promise<Ended> => {
    const child = spawnService(genrouter, place);
    present = child;
    const life: Life = {
      ...{
        pid: child.pid,
        fromMs: Date.now(),
        toMs: Number.POSITIVE_INFINITY,
        end: null,
        wasSignalled: false,
        said: child.output,
      },
    };
    lives.push(life);
    const end = await child.ended;
    Object.assign(life, { toMs: Date.now(), end, wasSignalled: isSignalled });
    return end;
  };
  const run = async (): Promise<void> => {
    for (;;) {
      const end = await live();
      if (isSignalled) return;
      if (!restarts.follow(end)) givenUp = `it ended with ${end.signal ?? end.code}, after which the unit does not restart it`;
      await Bun.sleep(restarts.pauseMs);
      if (givenUp === undefined && isOverLimit()) givenUp = "it exceeded the start limit";
      if (givenUp !== undefined || isSignalled) return;
    }
  };
  const lastWords = () => lives.at(-1)?.said().slice(-SAID) ?? "";

  return {
    ...{ url, place, lives },
    get probe() {
      if (!probe) throw new Error("the node was never started");
      return probe;
    },
    givenUp: () => givenUp,
    begin: () => {
      running ??= run();
      probe ??= openProbe(url);
    },
    ready: async (patienceMs) => {
      const look = () => probe?.isReady() || givenUp !== undefined;
      await until("a ready node", look, patienceMs).catch((fault: unknown) => {
        throw new Error(`${fault instanceof Error ? fault.message : fault}:\n${lastWords()}`);
      });
      if (givenUp !== undefined) throw new Error(`${givenUp}:\n${lastWords()}`);
    },
    stop: async () => {
      isSignalled = true;
      await probe?.stop();
      present?.kill("SIGTERM");
      await running;
    },
  };
};
