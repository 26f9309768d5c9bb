// `genrouter routes`: lists routes with their state, and enables or disables one.
import type { Command } from "commander";
import { marginText } from "../../../catalogue/margin.ts";
import type { RouteRow } from "../../routing/inventory.ts";
import { withAdminService } from "../admin-connection.ts";
import { EXITS } from "../exit-codes.ts";
import { type DirFlag, type JsonFlag, type Session, settingsOf, withDir, withExamples, withJson } from "../session.ts";
import { table } from "../terminal.ts";
import { addRouteTest } from "./route-test.ts";

type Flags = DirFlag & JsonFlag;

const tenth = (percent: number) => Math.round(percent * 10) / 10;
const time = (ms: number) => new Date(ms).toISOString();
const stateText = ({ state, reason, untilMs }: RouteRow): string => {
  if (state === "off" || state === "ended") return `${state}: ${reason}`;
  if (state !== "down" || untilMs === null) return reason === null || state === "no key" ? state : `${state}, ${reason}`;
  return `down until ${time(untilMs).slice(11, 19)} UTC${reason === null ? "" : `, ${reason}`}`;
};
const rowJson = ({ id, model, provider, endpoint, state, reason, untilMs, margin }: RouteRow) => ({
  ...{ id, model, provider, endpoint, state: state.replace(" ", "_"), reason },
  until: untilMs === null ? null : time(untilMs),
  margin_percent: margin && { least: tenth(margin.leastPercent), most: tenth(margin.mostPercent) },
});
const lines = (rows: readonly RouteRow[]): string[] =>
  table(
    ["ROUTE", "PROVIDER", "ENDPOINT", "LEFT", "STATE"],
    rows.map((row) => [row.id, row.provider, row.endpoint, marginText(row.margin), stateText(row)]),
    [3],
  );

export const addRoutes = (program: Command, session: Session): void => {
  const { terminal } = session;
  const report = (rows: readonly RouteRow[], json: boolean) => {
    for (const line of lines(rows)) if (!json) terminal.print(line);
  };
  const routes = withExamples(
    program.command("routes").description("list, disable and enable routes"),
    "routes list --model vidmodel-2.0",
    'routes disable vidmodel-2.0/fal --reason "cost increased on Monday"',
  );

  const list = routes
    .command("list")
    .description("list routes with margin and state (up, down, off, no key, ended)")
    .option("--model <id>", "only routes of this model")
    .option("--provider <id>", "only routes of this provider")
    .action(async (flags: Flags & { model?: string; provider?: string }) => {
      const request = { model: flags.model ?? null, provider: flags.provider ?? null };
      const rows = await withAdminService(settingsOf(session, flags), (admin) => admin.listRoutes(request));
      if (flags.json) return terminal.print(JSON.stringify(rows.map(rowJson)));
      if (rows.length === 0) {
        session.exit = EXITS.notFound;
        return terminal.warn("no matching routes; genrouter models --all lists the routes of all models");
      }
      report(rows, false);
    });
  withExamples(withJson(withDir(list)), "routes list", "routes list --provider fal --json");

  addRouteTest(routes, session);

  const turn = (name: "disable" | "enable", description: string) => {
    const command = routes.command(`${name} <id>`).description(description);
    if (name === "disable") command.option("--reason <text>", "reason, shown in the route list", "switched off by the operator");
    command.action(async (id: string, flags: Flags & { reason?: string }) => {
      const reason = name === "disable" ? (flags.reason ?? null) : null;
      const row = await withAdminService(settingsOf(session, flags), (admin) => admin.switchRoute({ id, reason }));
      if (flags.json) terminal.print(JSON.stringify(rowJson(row)));
      report([row], flags.json === true);
    });
    return withJson(withDir(command));
  };
  withExamples(
    turn("disable", "exclude a route from new plans; open attempts on it continue"),
    'routes disable vidmodel-2.0/fal --reason "cost increased on Monday"',
  );
  withExamples(turn("enable", "enable a disabled route"), "routes enable vidmodel-2.0/fal");
};
