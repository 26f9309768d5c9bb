// The commands of the README's first steps, in a fresh copy of the sources: start, then generate with a prompt and a local file.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Child, freePort, start } from "../../src/torture/crash/processes.ts";
import { dropScratch, makeScratch } from "../scratch.ts";

const ROOT = resolve(import.meta.dir, "../..");
const README = readFileSync(join(ROOT, "README.md"), "utf8");
/** What `npm start` and `npm run genrouter` read. */
const SOURCES = [
  ...["src", "actors", "catalogue", "client/src", "docs", "scripts", "web"],
  ...["package.json", "package-lock.json", "openapi.json", "README.md", "LICENSE", "THIRD_PARTY_NOTICES.txt"],
];
const copy = makeScratch("readme-");

let service: Child;
let env: Record<string, string>;
beforeAll(async () => {
  for (const path of SOURCES) cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  const words = ["npm", "--prefix", copy, "start", "--", "--port", String(await freePort())];
  service = start(words, { GENROUTER_SIMULATOR__SPEED: "20" });
  const [, url = "", key = ""] = await service.hears(/^url (\S+)\nkey (\S+)$/m);
  env = { GENROUTER_URL: url, GENROUTER_API_KEY: key };
}, 60_000);
afterAll(async () => {
  service.kill("SIGTERM");
  await service.ended;
  dropScratch(copy);
});

const shell = async (program: string): Promise<string> => {
  const options = { cwd: copy, env: { ...process.env, ...env }, stdout: "pipe", stderr: "pipe" } as const;
  const child = Bun.spawn(["bash", "-ec", program], options);
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([program, await child.exited, err]).toEqual([program, 0, expect.any(String)]);
  return `${out}${err}`;
};
/** The commands of the block that begins with a line. */
const commandsOf = (first: string): string[] => {
  const [block = ""] = README.slice(README.indexOf(first)).split("```");
  return [...block.matchAll(/^\$ (.+)$/gm)].map(([, command = ""]) => command);
};

test("the README's commands list models, make a clip and a picture, make a clip from that picture, and print its life", async () => {
  const [exported, ...commands] = commandsOf("$ export GENROUTER_URL=");
  expect(exported).toBe("export GENROUTER_URL=http://127.0.0.1:8080 GENROUTER_API_KEY=gr_test_…");
  expect(commands).toHaveLength(6);
  let id = "";
  const printed: string[] = [];
  for (const command of commands) {
    const text = await shell(command.replace("gen_…", id));
    id = /gen_\w+/.exec(text)?.[0] ?? id;
    printed.push(text);
  }
  const [models = "", , , wave = "", trace = ""] = printed;
  expect(models).toContain("vidmodel-2.0-fast");
  expect(wave).toContain("uploaded robot.png");
  expect(trace).toContain("succeeded");

  const picture = await Bun.file(join(copy, "robot.png")).bytes();
  expect((await new Bun.Image(picture).metadata()).format).toBe("png");
  for (const name of ["kite.mp4", "wave.mp4"])
    expect(Buffer.from(await Bun.file(join(copy, name)).slice(4, 8).bytes()).toString()).toBe("ftyp");
  const headers = { authorization: `Bearer ${env.GENROUTER_API_KEY}` };
  const list = (await (await fetch(`${env.GENROUTER_URL}/v1/files`, { headers })).json()) as { data: { sha256: string }[] };
  expect(list.data.map(({ sha256 }) => sha256)).toEqual([Bun.SHA256.hash(picture, "hex") as string]);
}, 120_000);
