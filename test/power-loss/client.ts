// The client of the power cuts, a process of its own whose power stays on: the crash client as it is.
import { runClient } from "../../src/torture/crash/client.ts";

await runClient(process.argv[2] ?? "");
process.exit(0);
