// A scene that outlives its harness: the same directory, simulator and clock, before and after the process has died.
import { onTestFinished } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { type ApplyTransition, StoreUnknown } from "../../src/store/mutations.ts";
import type { Store } from "../../src/store/store.ts";
import { testClock } from "../clock.ts";
import type { HarnessOptions, Tenant } from "../harness.ts";
import type { TestRoute } from "./catalogue.ts";
import { testDisk } from "./disk.ts";
import { openScene, type Scene } from "./fixture.ts";

/** Where the process dies: before or after the first event of this type is written. */
export type Death = { at: "before" | "after"; event: string };

export type Lasting = {
  first: Scene;
  /** The account of the first harness; its key opens the second one too. */
  tenant: Tenant;
  /** Resolves when the process has come to the place where it dies. */
  reached: Promise<void>;
  /** The process dies. Nothing is finished, nothing is told. */
  die(): Promise<void>;
  /** Opens the harness again, and shows it with the first one's account. */
  reopen(more?: Pick<HarnessOptions, "around">): Promise<Scene>;
};

export const openLasting = async (
  routes: readonly TestRoute[],
  /** `pragmas`, `around` and `diskRefuses` are of the first harness only. */
  options: {
    death?: Death;
    env?: Record<string, string>;
    diskRefuses?: true;
    pragmas?: HarnessOptions["pragmas"];
    around?: HarnessOptions["around"];
    /** How many times faster than life its clock is. */
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
  const isHere = (mutations: Parameters<Store["commit"]>[0]) =>
    mutations.some((mutation) => mutation.mutation === "step" && (mutation as ApplyTransition).event.type === death?.event);
  let isDead = false;
  const around = (store: Store): Store => ({
    ...store,
    commit: async (mutations) => {
      if (isDead) return fallen;
      if (!isHere(mutations)) return store.commit(mutations);
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
  // Whatever the order in which things are finished: the harnesses go before what they stand on.
  onTestFinished(async () => {
    for (const scene of reopened) await scene.close();
    await first.crash();
    await simulator.stop();
    clock.stop();
    rmSync(dir, { recursive: true, force: true });
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
