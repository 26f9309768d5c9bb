// `genrouter catalogue`: validates a directory of models and dialects and lists its changes.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import type { Change } from "../../../catalogue/diff.ts";
import { endingRoutes, endingText } from "../../../catalogue/route-end-dates.ts";
import type { Model } from "../../../catalogue/schema.ts";
import { adminOverSocket, requestFor } from "../control-client.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { type DirFlag, type JsonFlag, type Session, settingsOf, withDir, withExamples, withJson } from "../session.ts";
import { addExport, modelsText } from "./catalogue-export.ts";

/** The named directory, else the configured one. @throws CommandError (usage) */
const folderOf = (session: Session, named: string | undefined, flags: DirFlag): string => {
  const dir = named ?? settingsOf(session, flags).catalogue.dir;
  if (dir !== "") return dir;
  throw new CommandError(EXITS.usage, "no directory is named or configured: the built-in catalogue is in use", {
    fix: "genrouter catalogue check DIR, or set GENROUTER_CATALOGUE__DIR",
    code: "no_catalogue",
  });
};

type Read = { models: readonly Model[]; dialects: number };
/** Reads a directory as a start does. @returns the faults if there are any. */
const readFolder = async (dir: string): Promise<Read | { faults: string[] }> => {
  const [{ completeCatalogue, dialectsOf }, { fileFaults }] = await Promise.all([
    import("../../routing/load-catalogue.ts"),
    import("../catalogue-faults.ts"),
  ]);
  const attempt = <T>(work: () => T): { value: T } | { faults: string[] } => {
    try {
      return { value: work() };
    } catch (fault) {
      const faults = fileFaults(fault);
      if (faults) return { faults: faults.lines };
      throw fault;
    }
  };
  const builtIn = dialectsOf({ catalogue: { dir: "" } }).size;
  // Dialects are read first. Their faults would otherwise appear as unknown providers in the models.
  const dialects = attempt(() => dialectsOf({ catalogue: { dir } }));
  if ("faults" in dialects) return dialects;
  const models = attempt(() => completeCatalogue({ catalogue: { dir } }).models);
  if ("faults" in models) return models;
  const own = existsSync(join(dir, "providers")) ? dialects.value.size - builtIn : 0;
  return { models: models.value, dialects: own };
};

/** Prints faults to standard error, one per line. @returns true if there were any */
const reportFaults = (session: Session, read: Read | { faults: string[] }): read is { faults: string[] } => {
  if (!("faults" in read)) return false;
  session.exit = EXITS.usage;
  for (const fault of read.faults) session.terminal.warn(fault);
  return true;
};

const MARKS = { add: "+", drop: "−", change: "~" } as const;
const lineOf = ({ what, of, at, before, after }: Change): string => {
  const mark = before === undefined ? MARKS.add : after === undefined ? MARKS.drop : MARKS.change;
  if (what === "model" || what === "route") return `${mark} ${what} ${of}  (${after ?? before})`;
  const unit = what === "rate" ? " USD" : "";
  return `${mark} ${of}  ${at}: ${before ?? "none"} → ${after ?? "none"}${unit}`;
};

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;

export const addCatalogue = (program: Command, session: Session): void => {
  const { terminal } = session;
  const catalogue = program.command("catalogue").description("check a custom catalogue and show its changes");
  const check = catalogue
    .command("check")
    .description("check the models and dialects of a directory: print FILE:LINE: message for each error and exit with 2")
    .argument("[dir]", "directory with models/ and optional providers/ (default: catalogue.dir)")
    .action(async (named: string | undefined, flags: DirFlag & JsonFlag) => {
      const dir = folderOf(session, named, flags);
      const read = await readFolder(dir);
      if (flags.json) {
        const faults = "faults" in read ? read.faults : [];
        if (faults.length > 0) session.exit = EXITS.usage;
        const endings = "models" in read ? endingRoutes(read.models, Date.now()) : [];
        const ending = endings.map(({ routeId, ends, hasEnded }) => ({ route: routeId, ends, has_ended: hasEnded }));
        terminal.print(JSON.stringify({ ok: faults.length === 0, faults, ...(ending.length > 0 ? { ending } : {}) }));
      } else if (!reportFaults(session, read)) {
        const routes = read.models.reduce((sum, model) => sum + model.routes.length, 0);
        const dialects = read.dialects > 0 ? `, ${plural(read.dialects, "provider")} of the directory` : "";
        const simulated = read.models.filter((model) => model.simulated).length;
        terminal.print(`✔ ${dir}: ${modelsText(read.models.length, simulated)}, ${plural(routes, "route")}${dialects}`);
        for (const ending of endingRoutes(read.models, Date.now())) terminal.warn(`${ending.routeId}: ${endingText(ending)}`);
      }
    });
  withExamples(withJson(check), "catalogue check", "catalogue check /etc/genrouter/catalogue");
  const diff = catalogue
    .command("diff")
    .description("compare a directory with the running service, or with the built-in catalogue if none is running")
    .argument("[dir]", "directory with models/ (default: catalogue.dir)")
    .action(async (named: string | undefined, flags: DirFlag & JsonFlag) => {
      const { dir: dataDir } = settingsOf(session, flags).data;
      const read = await readFolder(folderOf(session, named, flags));
      if (reportFaults(session, read)) return;
      const [{ changesBetween }, { builtInCatalogue }] = await Promise.all([
        import("../../../catalogue/diff.ts"),
        import("../../../catalogue/load.ts"),
      ]);
      const running = existsSync(dataDir) ? await requestFor(dataDir) : undefined;
      const before = running ? await adminOverSocket(dataDir).listModels({}) : builtInCatalogue().models;
      // A service without the simulator omits models that only the simulator runs.
      const after = running?.mode === "live" ? read.models.filter((model) => !model.simulated) : read.models;
      const changes = changesBetween(before, after);
      const against = running ? "the running service" : "the built-in catalogue";
      if (flags.json) terminal.print(JSON.stringify({ against: running ? "service" : "built-in", changes }));
      else if (changes.length === 0) terminal.print(`no differences from ${against}`);
      else {
        terminal.note(`against ${against}:`);
        for (const change of changes) terminal.print(lineOf(change));
      }
    });
  withExamples(
    withJson(withDir(diff)),
    "catalogue diff",
    "catalogue diff ./catalogue --json | jq '.changes[] | select(.what == \"rate\")'",
  );
  withExamples(catalogue, "catalogue check", "catalogue diff && systemctl reload genrouter");
  addExport(catalogue, session);
};
