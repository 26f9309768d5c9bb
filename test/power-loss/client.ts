// The client of the power-cut program in its own process, whose power stays on.
import { runClient } from "../../src/torture/crash/client.ts";

await runClient(process.argv[2] ?? "");
process.exit(0);
