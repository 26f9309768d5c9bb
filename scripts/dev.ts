// `npm run dev`: runs the service as `npm start` does, and restarts it on a change in its sources, catalogue or web pages.
import { join } from "node:path";
import { buildWeb } from "../web/build.ts";
import { createDevLoop } from "./dev-loop.ts";

const root = join(import.meta.dir, "..");
const DIRECTORIES = ["src", "actors", "catalogue", "client/src", "docs/guides", "web"];

const loop = createDevLoop({
  command: [process.execPath, join(root, "src/main.ts"), "serve", "--simulate", ...process.argv.slice(2)],
  directories: DIRECTORIES.map((directory) => join(root, directory)),
  pages: ["/console", "/inspector"],
  describeFailure: () =>
    buildWeb().then(
      () => "the log above has the error",
      (error: Error) => error.message,
    ),
  log: (line) => process.stderr.write(`dev: ${line}\n`),
  onOutput: (text) => process.stdout.write(text),
});
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void loop.stop(signal).then((code) => process.exit(code)));
