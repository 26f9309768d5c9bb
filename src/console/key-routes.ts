// Endpoints of the console API for keys and usage, with their schemas and roles.
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { refuse } from "../domain/api-errors.ts";
import type { Principal } from "../domain/mutations.ts";
import { csvFile } from "../reports/csv.ts";
import { usageCsv } from "../reports/usage.ts";
import { SERIES_GROUPINGS, type SeriesGrouping } from "../reports/usage-series.ts";
import { USAGE_GROUPINGS, type UsageGrouping } from "../store/store.ts";
import { createKeyService, type KeyServiceDeps } from "./key-service.ts";
import { actorOf, type ConsoleRequest, type ConsoleRoute } from "./request-context.ts";

const object = <P extends Parameters<typeof Type.Object>[0]>(members: P) => Type.Object(members, { additionalProperties: false });
const orNull = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
const limit = orNull(Type.Integer({ minimum: 1, maximum: 1_000_000_000 }));
const TERMS = {
  name: Type.String({ maxLength: 200 }),
  expiresAtMs: orNull(Type.Integer({ minimum: 0, maximum: 8_640_000_000_000_000 })),
  models: orNull(Type.Array(Type.String({ minLength: 1, maxLength: 80 }), { minItems: 1, maxItems: 500, uniqueItems: true })),
  limits: object({ day: limit, week: limit, month: limit }),
};
const KEY = object({ ...TERMS, scope: Type.Union([Type.Literal("generate"), Type.Literal("read")]) });
const CHANGE = Type.Partial(object(TERMS), { additionalProperties: false, minProperties: 1 });
const ROTATION = object({ overlapMs: Type.Integer({ minimum: 0, maximum: 30 * 86_400_000 }) });

const isSeriesBy = (text: string): text is SeriesGrouping => SERIES_GROUPINGS.some((by) => by === text);
const isUsageBy = (text: string): text is UsageGrouping => USAGE_GROUPINGS.some((by) => by === text);

export const keyRoutes = (deps: KeyServiceDeps<Principal>): ConsoleRoute[] => {
  const service = createKeyService(deps);
  const account = ({ query }: ConsoleRequest) => query.get("account") ?? undefined;
  const usage = async (request: ConsoleRequest) => {
    const by = request.query.get("by") ?? "day";
    const days = { from: request.query.get("from") ?? undefined, to: request.query.get("to") ?? undefined };
    const filters = { model: request.query.get("model") || undefined, key: request.query.get("key") || undefined };
    if (!isUsageBy(by)) return refuse("invalid_request", `by: one of ${USAGE_GROUPINGS.join(", ")}.`);
    return service.usage(request.who, { account: account(request), ...days, ...filters, by });
  };
  const series = async (request: ConsoleRequest) => {
    const { query, who } = request;
    const asked = (name: string) => query.get(name) || undefined;
    const by = query.get("by") ?? "model";
    if (!isSeriesBy(by)) return refuse("invalid_request", `by: one of ${SERIES_GROUPINGS.join(", ")}.`);
    const filters = {
      from: asked("from"),
      to: asked("to"),
      model: asked("model"),
      key: asked("key"),
      endUser: asked("end_user"),
    };
    return service.series(who, { account: account(request), ...filters, by });
  };
  const path = "/console/api/keys";
  return [
    { method: "GET", path, who: "user", answer: (request) => service.page(request.who, account(request)) },
    {
      method: "POST",
      path,
      who: "user",
      body: KEY,
      answer: (request) => service.make(request.who, account(request), request.body as Static<typeof KEY>, actorOf(request)),
    },
    {
      method: "PATCH",
      path: `${path}/:id`,
      who: "user",
      body: CHANGE,
      answer: (request) =>
        service.change(request.who, request.params.id ?? "", request.body as Static<typeof CHANGE>, actorOf(request)),
    },
    {
      method: "POST",
      path: `${path}/:id/rotate`,
      who: "user",
      body: ROTATION,
      answer: (request) =>
        service.rotate(
          request.who,
          request.params.id ?? "",
          (request.body as Static<typeof ROTATION>).overlapMs,
          actorOf(request),
        ),
    },
    {
      method: "POST",
      path: `${path}/:id/revoke`,
      who: "user",
      answer: (request) => service.revoke(request.who, request.params.id ?? "", actorOf(request)),
    },
    { method: "GET", path: "/console/api/usage", who: "user", answer: usage },
    { method: "GET", path: "/console/api/usage/series", who: "user", answer: series },
    {
      method: "GET",
      path: "/console/api/usage.csv",
      who: "user",
      answer: async (request) => {
        const view = await usage(request);
        return csvFile(`usage-by-${view.by}-${view.from}-${view.to}.csv`, usageCsv(view));
      },
    },
  ];
};
