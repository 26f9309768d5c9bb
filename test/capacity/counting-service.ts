// The service as a process that counts the committed mutations of generations, and writes their number when it stops.
import { writeFileSync } from "node:fs";
import { createServer } from "../../src/app/server.ts";
import { readSettings } from "../../src/config/load.ts";
import { createLog } from "../../src/logging/logger.ts";
import type { Store } from "../../src/store/store.ts";
import { testTelemetry } from "../telemetry/open-telemetry.ts";

const { COUNT_FILE: countFile = "", ...env } = process.env;
const settings = readSettings(env);
let count = 0;

const around = (store: Store): Store => ({
  ...store,
  commit: async (mutations) => {
    const results = await store.commit(mutations);
    count += results.filter(({ kind }) => kind === "admitted" || kind === "stepped").length;
    return results;
  },
});

const service = await createServer(settings, { simulate: true, telemetry: testTelemetry(createLog(settings.log)), around });
process.once("SIGTERM", () => {
  service.drain().then(
    () => {
      writeFileSync(countFile, String(count));
      process.exit(0);
    },
    () => process.exit(1),
  );
});
