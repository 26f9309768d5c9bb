// Fetches the browser of the tests where the machine has none, so that no test waits for it.
import { fetchBrowser } from "./chromium.ts";

process.stdout.write(`Chromium is ${fetchBrowser()}\n`);
