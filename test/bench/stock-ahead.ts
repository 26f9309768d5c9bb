// Stocks a directory in a separate process during a patient bench: `stock-ahead.ts DIR COUNT`; prints one line of JSON.
import { fillEnded } from "./stock.ts";

const [dir = "", count = "0"] = process.argv.slice(2);
process.stdout.write(`${JSON.stringify(await fillEnded(dir, Number(count)))}\n`);
