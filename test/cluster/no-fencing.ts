// A node for the control program: it ignores its end, both when it writes and when it renews its lease.
import { createServer } from "../../src/app/server.ts";
import { readSettings } from "../../src/config/load.ts";
import { createLog } from "../../src/logging/logger.ts";
import type { Node } from "../../src/store/cluster-port.ts";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import type { Store } from "../../src/store/store.ts";
import { testTelemetry } from "../telemetry/open-telemetry.ts";

const settings = readSettings(process.env);
const { url, prepared, read_connections: connections, lease_s } = settings.store;
const store = await openPostgresStore({
  ...{ url, prepare: prepared, readers: connections, leaseMs: lease_s * 1000 },
  ...{ mode: "test", mindsOwners: false },
});

const deaf = (node: Node): Node => {
  let heard: Awaited<ReturnType<Node["renewLease"]>> = null;
  return {
    ...node,
    renewLease: async () => {
      heard = (await node.renewLease(false)) ?? heard;
      return heard;
    },
  };
};
/** Replaces the store that the service opens, and closes that one. */
const around = (own: Store): Store => {
  own.close().catch(() => undefined);
  return { ...store, node: store.node && deaf(store.node) };
};

const service = await createServer(settings, { simulate: true, telemetry: testTelemetry(createLog(settings.log)), around });
process.stdout.write(`url ${service.url}\n`);
process.exit(await service.ended);
