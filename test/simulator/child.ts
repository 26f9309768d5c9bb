// The simulator as a process of its own, to be killed by tests: `bun child.ts FLAGS`.
import { runSimulator } from "../../src/simulator/command.ts";

process.exit(await runSimulator(process.argv.slice(2)));
