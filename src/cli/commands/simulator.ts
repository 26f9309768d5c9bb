// `genrouter simulator`: runs the provider simulator alone, for other services and tests.
import type { Command } from "commander";
import type { Exit } from "../exit-codes.ts";
import { type Session, withExamples } from "../session.ts";

type Flags = { port: string; host: string; speed: string; seed: string; log?: string; catalogue?: string };

/** Media kind of each endpoint of a catalogue, so that the simulator need not guess it from names. */
const endpointsIn = async (dir: string | undefined) => {
  const [{ completeCatalogue }, { kindsOf, defaultsOf }] = await Promise.all([
    import("../../routing/load-catalogue.ts"),
    import("../../simulator/embedded.ts"),
  ]);
  const catalogue = completeCatalogue({ catalogue: { dir: dir ?? "" } });
  return { kindOf: kindsOf(() => catalogue), unsaid: defaultsOf(() => catalogue) };
};

export const addSimulator = (program: Command, session: Session): void => {
  const command = program
    .command("simulator")
    .description("run the provider simulator standalone; it prints the settings for a service")
    .option("--port <port>", "port to listen on, 0 takes a free one", "8090")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--speed <factor>", "1 = a picture in about 2 s, 100 = 100 times faster (GENROUTER_SIMULATOR__SPEED)")
    .option("--seed <n>", "seed of durations and files", "1")
    .option("--log <file>", "append every submission to a file before it is answered; a restart continues the file")
    .option("--catalogue <dir>", "catalogue that defines the endpoints, in place of the built-in one")
    .action(async ({ catalogue, ...flags }: Flags) => {
      const { runSimulator } = await import("../../simulator/command.ts");
      const speed = flags.speed ?? session.env.GENROUTER_SIMULATOR__SPEED ?? "1";
      const words = Object.entries({ ...flags, speed }).flatMap(([name, value]) => [`--${name}`, value]);
      session.exit = (await runSimulator(words, await endpointsIn(catalogue))) as Exit;
    });
  withExamples(command, "simulator --port 8090", "simulator --port 0 --speed 100 --log submissions.jsonl");
};
