// What the metrics ask of the service at each look: its routes, its readiness, its files on disk; all of it cheap.
import { statSync } from "node:fs";
import { access, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "./clock.ts";
import type { Settings } from "./config.ts";
import type { Engine } from "./engine.ts";
import { DATABASE_FILE } from "./store/sqlite/open.ts";
import type { RouteStanding, Standing } from "./telemetry/standing.ts";

/** A backup is a directory that is named after its time, UTC; its manifest is written last. */
const BACKUP = /^genrouter-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;
const MANIFEST = "manifest.json";

const secondsIn = (name: string): number => {
  const [, year, month, day, hour, minute, second] = BACKUP.exec(name) ?? [];
  return Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)) / 1000;
};

/** When the newest backup of a directory was made, s since 1970; 0 when there is none, or it cannot be read. */
export const newestBackupS = async (dir: string): Promise<number> => {
  if (dir === "") return 0;
  const names = (await readdir(dir).catch(() => [])).filter((name) => BACKUP.test(name)).sort();
  for (const name of names.reverse())
    if (
      await access(join(dir, name, MANIFEST)).then(
        () => true,
        () => false,
      )
    )
      return secondsIn(name);
  return 0;
};

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const BREAKERS: Readonly<Record<string, RouteStanding["breaker"]>> = { closed: "closed", open: "open", halfOpen: "half_open" };

export type StandingParts = {
  settings: Settings;
  clock: Clock;
  engine: Pick<Engine, "routes" | "readiness" | "breakers">;
  reads: Standing["reads"];
};

export const openStanding = ({ settings, clock, engine, reads }: StandingParts): Standing => {
  const path = join(settings.data.dir, DATABASE_FILE);
  return {
    nowMs: clock.nowMs,
    isReady: () => engine.readiness().ready,
    routes: () => {
      const breakers = engine.breakers();
      return engine.routes.catalogue().models.flatMap((model) =>
        model.routes.flatMap(({ id }): RouteStanding[] => {
          const state = engine.routes.state(id);
          const breaker = BREAKERS[breakers.get(id) ?? "closed"] ?? "closed";
          return state === "unconfigured" ? [] : [{ routeId: id, model: model.id, isUp: state === "up", breaker }];
        }),
      );
    },
    reads,
    databaseBytes: () => sizeOf(path) + sizeOf(`${path}-wal`),
    lastBackupS: () => newestBackupS(settings.backup.dir),
  };
};
