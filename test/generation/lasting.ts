// A fixture that survives a crash of its harness: the same directory, simulator and clock before and after.

import { onTestFinished } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StoreUnknown } from "../../src/domain/commit-errors.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import type { Store } from "../../src/store/store.ts";
import { testClock } from "../clock.ts";
import type { HarnessOptions, Tenant } from "../harness.ts";
import { dropScratch } from "../scratch.ts";
import type { TestRoute } from "./catalogue.ts";
import { testDisk } from "./disk.ts";
import { openScene, type Scene } from "./fixture.ts";
import { someApply } from "./transitions.ts";

/** When the process dies: before or after the commit of the first event of this type. */
export type Death = { at: "before" | "after"; event: string };

export type Lasting = {
  first: Scene;
  /** The account of the first harness; its key is also valid in the second one. */
  tenant: Tenant;
  /** Resolves when the process has reached the point where it dies. */
  reached: Promise<void>;
  /** Crashes the process without completing or reporting anything. */
  die(): Promise<void>;
  /** Opens the harness again with the first account as its default. */
  reopen(more?: Pick<HarnessOptions, "around">): Promise<Scene>;
};

export const openLasting = async (
  routes: readonly TestRoute[],
  /** `pragmas`, `around` and `diskRefuses` apply to the first harness only. */
  options: {
    death?: Death;
    env?: Record<string, string>;
    diskRefuses?: true;
    pragmas?: HarnessOptions["pragmas"];
    around?: HarnessOptions["around"];
    /** The speed of its clock, as a multiple of real time. */
    factor?: number;
  } = {},
): Promise<Lasting> => {
  const { death, env, diskRefuses, pragmas } = options;
  const disk = testDisk();
  if (diskRefuses) disk.refuse();
  const dir = mkdtempSync(join(tmpdir(), "lasting-"));
  const clock = testClock(options.factor ?? 100);
  const simulator = await createSimulator({ clock, kindOf: () => "image" });
  let arrive: () => void = () => undefined;
  const reached = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  let fall: (fault: unknown) => void = () => undefined;
  const fallen = new Promise<never>((_, reject) => {
    fall = reject;
  });
  fallen.catch(() => undefined);
  let isDead = false;
  const around = (store: Store): Store => ({
    ...store,
    commit: async (mutations) => {
      if (isDead) return fallen;
      if (!someApply(mutations, death?.event)) return store.commit(mutations);
      isDead = true;
      if (death?.at === "after") await store.commit(mutations);
      arrive();
      return fallen;
    },
  });
  const shared = { routes, dir, clock, simulator, ...(env ? { env } : {}) };
  const first = await openScene({
    ...shared,
    aroundFiles: disk.aroundFiles,
    around: options.around ?? around,
    ...(pragmas ? { pragmas } : {}),
  });
  const reopened: Scene[] = [];
  // In any order of finish hooks, the harnesses close before the simulator, clock and directory that they use.
  onTestFinished(async () => {
    for (const scene of reopened) await scene.close();
    await first.crash();
    await simulator.stop();
    clock.stop();
    dropScratch(dir);
  });
  return {
    first,
    tenant: first.tenant,
    reached,
    die: async () => {
      const crashed = first.crash();
      fall(new StoreUnknown("the process has died"));
      await crashed;
    },
    reopen: async (more = {}) => {
      const again = await openScene({ ...shared, ...more });
      reopened.push(again);
      const { tenant } = first;
      return {
        ...again,
        show: (id, key = tenant.key) => again.show(id, key),
        until: (id, reached = ({ status }) => status === "succeeded" || status === "failed") =>
          again.eventually(async () => {
            const shown = await again.show(id, tenant.key);
            return reached(shown) && shown;
          }, `generation ${id}`),
        balance: (of = tenant) => again.balance(of),
      };
    },
  };
};
