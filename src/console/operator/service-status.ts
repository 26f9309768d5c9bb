// State of the service for operators: readiness, parked generations, restored backup and last backup.

import type { DecidedView, GenerationDecisionRequest, ServiceView } from "../operator-dto.ts";
import type { ConsoleRequest } from "../request-context.ts";
import type { BackupService } from "./backup-service.ts";
import { named, type OperatorDeps, signed } from "./deps.ts";
import { losingRoutes } from "./losing-routes.ts";
import { listNodes } from "./node-list.ts";

const MAX_PARKED = 100;

const unsettled = (takenAtMs: number): string => {
  const taken = new Date(takenAtMs).toISOString();
  return `the database was restored from a backup as of ${taken}: later jobs, payments and revocations are not in it; genrouter reconcile PROVIDER --since ${taken} lists the jobs since then; confirm with genrouter backup settle --reason TEXT`;
};

export const createServiceStatus = ({ reads, running, admin }: OperatorDeps, backups: BackupService) => ({
  /** Applies an operator decision to a generation. */
  decide: (request: ConsoleRequest): Promise<DecidedView> =>
    admin.decideGeneration(signed(request, { id: named(request, "id"), ...(request.body as GenerationDecisionRequest) })),
  show: async (): Promise<ServiceView> => {
    const [restored, oldest] = [await reads.restored(), (await reads.unfinished(0, 1))[0]];
    const nodes = await listNodes(reads.nodes, running.epoch);
    const own = running.counts();
    /** Sum over all nodes, or the value of this process. */
    const sum = (of: "queued" | "running"): number => nodes?.reduce((all, node) => all + node[of], 0) ?? own[of];
    return {
      ...running.about(),
      ...running.readiness(),
      warnings: [...running.warnings(), ...(restored?.isSettled === false ? [unsettled(restored.takenAtMs)] : [])],
      ...{ queued: sum("queued"), running: sum("running"), nodes },
      parked: await reads.parked(MAX_PARKED),
      restored:
        restored === null
          ? null
          : {
              takenAtMs: restored.takenAtMs,
              open: oldest !== undefined && oldest.seq <= restored.upToSeq,
              settled: restored.isSettled,
            },
      backup: await backups.view(),
      losing: losingRoutes(await admin.listRoutes({ model: null, provider: null })),
    };
  },
});
