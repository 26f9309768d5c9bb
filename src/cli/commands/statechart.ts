// `genrouter statechart`: draws the statecharts of the service and replays a generation.
import { writeFileSync } from "node:fs";
import { type Command, Option } from "commander";
import type { Chart } from "../../../actors/chart/chart.ts";
import { seqOfGenerationId } from "../../domain/ids.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { storeLocationOf, withReads } from "../read-only-store.ts";
import { type DirFlag, type JsonFlag, type Session, settingsOf, withDir, withExamples, withJson } from "../session.ts";
import { table } from "../terminal.ts";

type Form = "mermaid" | "svg" | "json";
type Out = { output?: string };
type Terminal = Session["terminal"];

/** Writes to a file or to standard output. */
const put = (terminal: Terminal, { output }: Out, text: string): void => {
  if (output === undefined) {
    terminal.print(text.trimEnd());
    return;
  }
  try {
    writeFileSync(output, `${text.trimEnd()}\n`);
  } catch (fault) {
    const reason = fault instanceof Error && "code" in fault ? String(fault.code) : "it cannot be written";
    throw new CommandError(EXITS.unwritable, `${output}: ${reason}`, { fix: "-o names a file in a directory that is there" });
  }
  terminal.note(`written to ${output}`);
};

/** A statechart by its name, and the transitions that tests cover. Loaded here, because most commands need no statechart. */
const chartNamed = async (name: string): Promise<{ chart: Chart; covered: readonly string[] }> => {
  const { MACHINES, MACHINE_NAMES } = await import("../../../actors/chart/machines.ts");
  const { chartOf } = await import("../../../actors/chart/chart.ts");
  const { coveredOf } = await import("../../../actors/chart/coverage.ts");
  const known = MACHINE_NAMES.find((each) => each === name);
  if (!known)
    throw new CommandError(EXITS.usage, `there is no machine ${name}; there are ${MACHINE_NAMES.join(", ")}`, {
      code: "bad_argument",
    });
  return { chart: chartOf(MACHINES[known].machine), covered: coveredOf(known) };
};

const addList = (machine: Command, { terminal }: Session): void => {
  const list = machine
    .command("list")
    .description("list statecharts with their size and test coverage")
    .action(async (flags: JsonFlag) => {
      const { MACHINES, MACHINE_NAMES } = await import("../../../actors/chart/machines.ts");
      const rows = await Promise.all(
        MACHINE_NAMES.map(async (name) => {
          const { chart, covered } = await chartNamed(name);
          const [states, transitions] = [chart.states.length, chart.transitions.length];
          return { name, about: MACHINES[name].about, states, transitions, covered: covered.length };
        }),
      );
      if (flags.json) return terminal.print(JSON.stringify(rows));
      const cells = rows.map(({ name, states, transitions, covered, about }) => [
        ...[name, String(states), String(transitions)],
        `${Math.floor((100 * covered) / transitions)} %`,
        about,
      ]);
      for (const line of table(["MACHINE", "STATES", "TRANSITIONS", "TESTED", "WHAT IT IS"], cells, [1, 2, 3]))
        terminal.print(line);
    });
  withExamples(withJson(list), "statechart list");
};

const addDiagram = (machine: Command, { terminal }: Session): void => {
  const diagram = machine
    .command("diagram <machine>")
    .description("draw a statechart")
    .addOption(new Option("--format <form>", "what to draw it as").choices(["mermaid", "svg", "json"]).default("mermaid"))
    .option("--coverage", "mark in an SVG which transitions the tests take")
    .option("-o, --output <file>", "write to a file instead of standard output")
    .action(async (name: string, flags: Out & { format: Form; coverage?: true }) => {
      const { chart, covered } = await chartNamed(name);
      if (flags.format === "svg") {
        const { svgOf } = await import("../../../actors/chart/svg.ts");
        put(terminal, flags, svgOf(chart, flags.coverage ? { coverage: covered } : {}));
      } else if (flags.format === "json") {
        const transitions = chart.transitions.map((each) => ({ ...each, covered: covered.includes(each.id) }));
        put(terminal, flags, JSON.stringify({ ...chart, transitions }, null, 2));
      } else {
        const { mermaidOf } = await import("../../../actors/chart/mermaid.ts");
        put(terminal, flags, mermaidOf(chart));
      }
    });
  withExamples(diagram, "statechart diagram generation", "statechart diagram generation --format svg -o generation.svg");
};

/** @throws CommandError (not found) if no generation can have this id */
const requireGenerationId = (id: string): void => {
  if (seqOfGenerationId(id) !== undefined) return;
  throw new CommandError(
    EXITS.notFound,
    `there is no generation ${JSON.stringify(id)}: the id is malformed; expected gen_ and 21 digits or small letters`,
    { code: "not_found" },
  );
};

const addReplay = (machine: Command, session: Session): void => {
  const { terminal } = session;
  const replayed = machine
    .command("replay <id>")
    .description("replay the stored events of a generation: each transition with guards, effects and transfers (operator)")
    .addOption(
      new Option("--format <form>", "as text, or the way it took as a diagram")
        .choices(["text", "mermaid", "svg", "json"])
        .default("text"),
    )
    .option("-o, --output <file>", "write to a file instead of standard output")
    .action(async (id: string, flags: DirFlag & JsonFlag & Out & { format: Form | "text" }) => {
      requireGenerationId(id);
      const { limits } = settingsOf(session, flags);
      const { readGenerationHistory } = await import("../../inspector/generation-history.ts");
      const life = await withReads(storeLocationOf(session, flags), (reads) =>
        readGenerationHistory(reads, id, limits.result_download_timeout_s * 1000),
      );
      if (!life)
        throw new CommandError(EXITS.notFound, `there is no generation ${id} in this data directory`, {
          fix: "--data names the directory of the service that has it",
          code: "not_found",
        });
      const { exportReplay } = await import("../replay-text.ts");
      const { text, faults } = await exportReplay(life, flags.json ? "json" : flags.format);
      put(terminal, flags, text);
      if (faults.length === 0) return;
      session.exit = EXITS.failure;
      for (const fault of faults) terminal.warn(`does not agree: ${fault}`);
    });
  withExamples(
    withJson(withDir(replayed)),
    "statechart replay gen_01k…",
    "statechart replay gen_01k… --format svg -o way.svg",
    "statechart replay gen_01k… --json | jq '.steps[].description'",
  );
};

export const addMachine = (program: Command, session: Session): void => {
  const machine = withExamples(
    program.command("statechart").description("list and draw the statecharts, or replay a generation"),
    "statechart list",
    "statechart diagram generation --format svg -o generation.svg",
    "statechart replay gen_01k…",
  );
  addList(machine, session);
  addDiagram(machine, session);
  addReplay(machine, session);
};
