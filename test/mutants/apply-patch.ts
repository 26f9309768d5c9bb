// Preload of a killer: plants the mutant that MUTANT names into the sources while they are loaded.
import { join } from "node:path";
import { MUTANTS } from "./all.ts";
import { filesOf, planted, ROOT } from "./mutant.ts";

/** The path of this file, for --preload. */
export const PLANT = import.meta.path;

const plant = (name: string): void => {
  const mutant = MUTANTS.find((one) => one.name === name);
  if (!mutant) {
    process.stderr.write(`MUTANT=${name}: there is no such mutant\n`);
    process.exit(3);
  }
  const texts = new Map(filesOf(mutant).map((file) => [join(ROOT, file), planted(mutant, file)]));
  const escaped = [...texts.keys()].map((path) => path.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  Bun.plugin({
    name: "mutant",
    setup(build) {
      build.onLoad({ filter: new RegExp(`^(${escaped.join("|")})$`) }, ({ path }) => {
        process.stderr.write(`planted ${mutant.name} in ${path}\n`);
        return { contents: texts.get(path) ?? "", loader: "ts" };
      });
    },
  });
};

if (process.env.MUTANT !== undefined) plant(process.env.MUTANT);
