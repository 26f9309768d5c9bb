// `genrouter catalogue export`: writes the built-in models as files for editing.
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { counted } from "../backup-text.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { type JsonFlag, type Session, withExamples, withJson } from "../session.ts";

/**
 * Counts models in files. The start, the doctor and the log count the models of real providers; if all are simulated, the text
 * states it.
 */
export const modelsText = (count: number, simulated: number): string => {
  const all = counted(count, "model");
  if (simulated === 0 || simulated === count) return all;
  return `${all} (${simulated} of them for the simulator only; a service for real providers has ${count - simulated})`;
};

export const addExport = (catalogue: Command, session: Session): void => {
  const { terminal } = session;
  const command = catalogue
    .command("export <dir>")
    .description("write the built-in models and their JSON Schema to files; nothing is overwritten")
    .action(async (dir: string, flags: JsonFlag) => {
      const [{ BUILT_IN_MODELS }, { default: shape }] = await Promise.all([
        import("../../../catalogue/built-in.ts"),
        import("../../../catalogue/catalogue.schema.json"),
      ]);
      const models = join(dir, "models");
      if (existsSync(models))
        throw new CommandError(EXITS.usage, `${models} already exists, and an export overwrites no files`, {
          fix: "name another directory; genrouter catalogue diff DIR compares yours with the catalogue in use",
          code: "exists",
        });
      const files = Object.entries(BUILT_IN_MODELS).sort(([a], [b]) => (a < b ? -1 : 1));
      try {
        mkdirSync(models, { recursive: true });
        // The service may run as another user, and the files contain no secrets.
        for (const folder of [dir, models]) chmodSync(folder, 0o755);
        const write = (path: string, content: unknown) => {
          writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`);
          chmodSync(path, 0o644);
        };
        write(join(dir, "catalogue.schema.json"), shape);
        for (const [name, model] of files) write(join(models, name), model);
      } catch (fault) {
        const code = fault instanceof Error && "code" in fault ? ` (${String(fault.code)})` : "";
        throw new CommandError(EXITS.unwritable, `${dir} cannot be written${code}`, {
          fix: "name another directory",
          code: "not_writable",
        });
      }
      const simulated = files.filter(([, model]) => (model as { simulated?: boolean }).simulated === true).length;
      if (flags.json) return terminal.print(JSON.stringify({ dir: resolve(dir), models: files.length, simulated }));
      terminal.print(`${models}  ${modelsText(files.length, simulated)}`);
      terminal.note(`genrouter catalogue check ${dir}, then set catalogue.dir to it (GENROUTER_CATALOGUE__DIR)`);
    });
  withExamples(withJson(command), "catalogue export /etc/genrouter/catalogue");
};
