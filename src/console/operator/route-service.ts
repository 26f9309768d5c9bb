// Route operations of the operator pages: statistics, enable, disable, check and trial.
import type { Model, Route } from "../../../catalogue/schema.ts";
import type { Trial } from "../../admin/route-trial.ts";
import type { RouteChecked, RouteLine, RoutesPage, TrialView } from "../operator-dto.ts";
import type { ConsoleRequest } from "../request-context.ts";
import { named, type OperatorDeps, signed } from "./deps.ts";
import { latencyOf, outcomesOf, priceOf, successPercent } from "./route-stats.ts";

/** Number of attempts, of all routes together, that outcomes are computed from, and deliveries per route for its latency. */
const ATTEMPTS = 5_000;
const DELIVERIES = 200;
/** Minimum interval between two reads of the rows, independent of the number of readers. */
const FIGURES_MS = 5_000;

const trialOf = ({ failure, ...trial }: Trial): TrialView => ({
  ...trial,
  failure: failure === null ? null : `${failure.class}: ${failure.detail}`,
});

export const createRouteService = ({ admin, reads, running, clock }: OperatorDeps) => {
  let looked: { atMs: number; figures: ReturnType<typeof readFigures> } | null = null;
  const readFigures = async () => ({
    outcomes: outcomesOf(await reads.lastOutcomes(ATTEMPTS)),
    deliveries: await reads.recentDeliveries(DELIVERIES),
  });
  const figures = () => {
    const nowMs = clock.nowMs();
    if (looked === null || nowMs - looked.atMs >= FIGURES_MS) looked = { atMs: nowMs, figures: readFigures() };
    return looked.figures;
  };
  const catalogue = async (): Promise<Map<string, { model: Model; route: Route }>> =>
    new Map((await admin.listModels({})).flatMap((model) => model.routes.map((route) => [route.id, { model, route }] as const)));
  const lines = async (): Promise<RouteLine[]> => {
    const [rows, known, { outcomes, deliveries }] = [
      await admin.listRoutes({ model: null, provider: null }),
      await catalogue(),
      await figures(),
    ];
    const offAt = new Map((await reads.switchedOff()).map(({ routeId, atMs }) => [routeId, atMs]));
    const judgedAt = await reads.healthChangedAt();
    return rows.flatMap((row): RouteLine[] => {
      const { id, state } = row;
      const found = known.get(id);
      // The catalogue may have been replaced between the two reads.
      if (!found) return [];
      const { model, route } = found;
      const own = outcomes.get(id) ?? { delivered: 0, failed: 0, refused: 0 };
      const measured = running.expectedMs(id);
      return [
        {
          ...{ id, state, model: row.model, provider: row.provider, endpoint: row.endpoint, margin: row.margin },
          reason: state === "no key" ? null : row.reason,
          sinceMs: { off: offAt.get(id), down: judgedAt.get(id), up: null, ended: null, "no key": null }[state] ?? null,
          untilMs: state === "down" ? row.untilMs : null,
          outcomes: own,
          successPercent: successPercent(own),
          latency: latencyOf(deliveries.get(id) ?? []),
          expectedMs: measured ?? route.expected_s * 1000,
          isMeasured: measured !== undefined,
          price: priceOf(route, model.price.unit),
          running: running.running(id),
        },
      ];
    });
  };
  const find = (request: ConsoleRequest): Promise<RouteLine[]> =>
    lines().then((all) => all.filter(({ id }) => id === named(request, "id")));

  return {
    list: async (): Promise<RoutesPage> => ({
      routes: await lines(),
      attempts: ATTEMPTS,
      deliveries: DELIVERIES,
      isShared: reads.nodes !== null,
    }),
    /** Disables a route with a reason, or enables it again (null). */
    switch: async (request: ConsoleRequest): Promise<RouteLine | object> => {
      const { reason } = request.body as { reason: string | null };
      await admin.switchRoute(signed(request, { id: named(request, "id"), reason }));
      return (await find(request))[0] ?? {};
    },
    check: async (request: ConsoleRequest): Promise<RouteChecked> => {
      const { check, costs } = await admin.checkRoute({ id: named(request, "id") });
      if (check.kind === "refused") return { kind: check.kind, detail: `${check.failure.class}: ${check.failure.detail}`, costs };
      return { kind: check.kind, detail: "detail" in check ? check.detail : null, costs };
    },
    /** Submits one paid generation. The same reference selects the same generation. */
    try: async (request: ConsoleRequest): Promise<TrialView> => {
      const { reference } = request.body as { reference: string };
      return trialOf(await admin.tryRoute(signed(request, { reference, id: named(request, "id"), input: null })));
    },
    trial: async (request: ConsoleRequest): Promise<TrialView> =>
      trialOf(await admin.findTrial({ generationId: named(request, "id") })),
  };
};
