// Fetches the test browser if the machine has none, so that no test waits for it.
import { fetchBrowser } from "./chromium.ts";

process.stdout.write(`Chromium is ${fetchBrowser()}\n`);
