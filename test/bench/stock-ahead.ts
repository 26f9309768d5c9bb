// Stocks a directory in a process of its own, while a bench runs that does not mind: `stock-ahead.ts DIR COUNT`; one line of JSON when it is done.
import { fillEnded } from "./stock.ts";

const [dir = "", count = "0"] = process.argv.slice(2);
process.stdout.write(`${JSON.stringify(await fillEnded(dir, Number(count)))}\n`);
