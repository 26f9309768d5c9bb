// The restart loop of `npm run dev` with a small service: a change restarts it, and a broken source does not end the loop.
import { afterEach, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createDevLoop, type DevLoop } from "../../scripts/dev-loop.ts";
import { eventually } from "../eventually.ts";
import { dropScratch, makeScratch } from "../scratch.ts";

let loop: DevLoop | undefined;
let dir = "";
afterEach(async () => {
  await loop?.stop("SIGTERM");
  dropScratch(dir);
});

const SERVICE = `
const page = await Bun.file(import.meta.dir + "/../web/page.txt").text();
const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(page, { status: page === "broken" ? 500 : 200 }) });
console.log("url http://127.0.0.1:" + server.port);
process.on("SIGTERM", () => { console.log("drained"); process.exit(0); });
`;

test("the dev loop drains and restarts the service after a change, and reports a broken page or source until the next change", async () => {
  dir = makeScratch("gr-dev-");
  for (const each of ["src", "web"]) mkdirSync(join(dir, each));
  const page = join(dir, "web/page.txt");
  const source = join(dir, "src/service.ts");
  writeFileSync(page, "first");
  writeFileSync(source, SERVICE);
  const lines: string[] = [];
  let output = "";
  const starts = () => [...output.matchAll(/^url (\S+)$/gm)].map(([, url]) => url ?? "");
  const logged = (pattern: RegExp) => eventually(async () => lines.some((line) => pattern.test(line)), String(pattern));
  const served = async () => (await fetch(`${starts().at(-1)}/console`)).text();

  loop = createDevLoop({
    command: [process.execPath, source],
    directories: [join(dir, "src"), join(dir, "web")],
    pages: ["/console"],
    describeFailure: async () => "planted reason",
    log: (line) => lines.push(line),
    onOutput: (text) => {
      output += text;
    },
  });
  await logged(/^pages built: http:\S+\/console$/);
  expect(await served()).toBe("first");

  writeFileSync(join(dir, "src/.service.ts.swp"), "an editor's own file");
  writeFileSync(page, "second");
  await logged(/^restart: page\.txt changed$/);
  await eventually(async () => starts().length === 2, "second start");
  expect(await served()).toBe("second");
  expect(output).toContain("drained\n");

  writeFileSync(page, "broken");
  await logged(/^\/console was not built \(500\): planted reason$/);

  writeFileSync(source, "this is no source {");
  await logged(/^the service ended with code 1; it starts again after the next change$/);
  writeFileSync(page, "third");
  writeFileSync(source, SERVICE);
  await eventually(async () => starts().length === 4, "start after the correction");
  expect(await served()).toBe("third");
});
