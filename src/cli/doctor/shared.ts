// Doctor checks of a shared database: availability, store checks and live nodes.
import type { Settings } from "../../config/schema.ts";
import { type NodeReads, nodeName } from "../../store/cluster-port.ts";
import { DatabaseEmpty } from "../../store/errors.ts";
import { counted } from "../backup-text.ts";
import { storedFilesFinding } from "./bucket.ts";
import { ledgerFindings, orphanFindings, parkedFinding, restoredFindings } from "./database.ts";
import { type Finding, fault, ok, type Stored, textOf, warning } from "./finding.ts";
import { purchaseFindings } from "./payments.ts";
import { providerFindings } from "./providers.ts";

/** Ended nodes are not listed. */
const NONE_ENDED = 0;
const MAX_PARKED = 1000;
const BEGIN = "genrouter serve initializes it; genrouter migrate-store moves a data directory into it first";
const LOOK_AFTER = "check the server of GENROUTER_STORE__URL; nodes wait for it and continue without a restart";

const nodeFindings = async (nodes: NodeReads | null): Promise<Finding[]> => {
  const rows = (await nodes?.list(NONE_ENDED)) ?? [];
  const isDead = ({ leaseEndsInMs }: (typeof rows)[number]) => (leaseEndsInMs ?? 0) < 0;
  const alive = rows.filter((row) => !isDead(row));
  return [
    alive.length === 0
      ? warning("nodes", "no node is live", "run genrouter serve on each machine, and check its log")
      : ok("nodes", `${counted(alive.length, "node")} live: ${alive.map(nodeName).join(", ")}`),
    ...rows
      .filter(isDead)
      .map((row) =>
        warning(
          "nodes",
          `the lease of ${nodeName(row)} has expired, and no other node has taken over its generations`,
          "run genrouter serve; a starting node takes over its generations",
        ),
      ),
  ];
};

/** @param settings of the running service, if there is one */
export const checkSharedDatabase = async (settings: Settings, isDeep: boolean, nowMs: number): Promise<Stored> => {
  const { openPostgresReads } = await import("../../store/postgres/read-only-client.ts");
  const { url, prepared: prepare } = settings.store;
  let reads: Awaited<ReturnType<typeof openPostgresReads>> | null = null;
  try {
    reads = await openPostgresReads({ url, prepare });
    const [mode, isServed] = [await reads.mode(), await reads.isServed()];
    const checks = isDeep ? await reads.verify(isServed ? nowMs : null) : null;
    return {
      findings: [
        ok("database", `PostgreSQL at ${new URL(url).host}, created for ${mode === "test" ? "the simulator" : "real providers"}`),
        ...(await nodeFindings(reads.nodes)),
        ...ledgerFindings(await reads.sums(), checks),
        parkedFinding((await reads.parked(MAX_PARKED)).map(({ id }) => id)),
        ...restoredFindings(await reads.restored()),
        await orphanFindings(reads),
        ...(isDeep ? [await storedFilesFinding(reads, settings, nowMs)] : []),
        ...(await purchaseFindings(reads, nowMs)),
      ],
      ...{ lastSeenMs: await reads.lastSeenMs(), mode, lineage: null },
      providers: await providerFindings(settings, mode, reads),
    };
  } catch (thrown) {
    return {
      findings: [
        thrown instanceof DatabaseEmpty
          ? warning("database", `PostgreSQL at ${new URL(url).host} responds and is empty`, BEGIN)
          : fault("database", textOf(thrown), LOOK_AFTER),
      ],
      ...{ lastSeenMs: null, mode: null, lineage: null },
      providers: await providerFindings(settings, null, null),
    };
  } finally {
    await reads?.close();
  }
};
