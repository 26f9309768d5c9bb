// The programs of the guides run unchanged against a service.
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { GUIDES } from "../../src/http/pages/guide-texts.ts";
import { type Child, freePort, start } from "../../src/torture/crash/processes.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type TestClock, testClock } from "../clock.ts";
import { openWebhooks, type WebhookScene } from "../webhooks/fixture.ts";

const ROOT = join(import.meta.dir, "../..");
/** The directory where `.ci/extras` installs packages from PyPI. */
const EXTRAS = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "genrouter/python");

/** The programs of a guide in one language, in their order. */
const programsOf = (guide: string, language: string): string[] =>
  [...(GUIDES[guide] ?? "").matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, text = ""]) => text);
const firstOf = (guide: string, language: string): string => {
  const [program] = programsOf(guide, language);
  if (program === undefined) throw new Error(`${guide} has no program in ${language}`);
  return program;
};

const missing = (tool: string): boolean => {
  if (Bun.which(tool) !== null) return false;
  process.stdout.write(`skipped: programs of the guides with ${tool} (not installed)\n`);
  return true;
};
const isWithoutPackage = !existsSync(join(EXTRAS, "standardwebhooks"));
if (isWithoutPackage)
  process.stdout.write("skipped: the Python receiver (bash .ci/extras installs standardwebhooks from PyPI)\n");

let clock: TestClock;
let scene: WebhookScene;
const children: Child[] = [];
beforeAll(async () => {
  // The libraries of receivers compare timestamps with the real time.
  clock = testClock(5, Date.now());
  scene = await openWebhooks({ clock });
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill("SIGKILL");
    await child.ended;
  }
});
afterAll(async () => {
  await scene.receiver.stop();
  await scene.close();
  clock.stop();
  dropDirs();
});

const envOf = (more: Record<string, string> = {}): Record<string, string> => ({
  ...{ PATH: process.env.PATH ?? "", GENROUTER_URL: scene.url, GENROUTER_API_KEY: scene.tenant.key, PYTHONPATH: EXTRAS },
  ...more,
});
const run = async (command: string[], cwd: string, env = envOf()) => {
  const child = Bun.spawn(command, { cwd, env, stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { exit: await child.exited, out, err };
};
/** Runs a shell program, which may use `$ID`, and returns its output. */
const shell = async (program: string, cwd: string, id = ""): Promise<string> => {
  const { exit, out, err } = await run(["bash", "-ec", program], cwd, envOf({ ID: id }));
  expect([exit, err]).toEqual([0, ""]);
  return out;
};
const RESULT = /^https?:\/\/.*\/files\/gen_\w+\/1\.png/m;

test.skipIf(missing("curl"))("the shell programs of the quick start submit, wait and download", async () => {
  const dir = freshDir();
  const [, models = "", submit = "", collect = ""] = programsOf("quick-start", "sh");
  expect(await shell(models, dir)).toContain('"sim-image-1"');
  const { id } = JSON.parse(await shell(submit, dir)) as { id: string };
  const again = JSON.parse(await shell(submit, dir)) as { id: string };
  expect(again.id).toBe(id);
  expect(await shell(collect, dir, id)).toContain('"status":"succeeded"');
  expect((await new Bun.Image(await Bun.file(join(dir, "robot.png")).bytes()).metadata()).format).toBe("png");
});

test.skipIf(missing("curl"))("the shell programs about files upload a form and a raw body", async () => {
  const dir = freshDir();
  copyFileSync(join(ROOT, "test/corpus/files/alpha.png"), join(dir, "kite.png"));
  const uploads = programsOf("files", "sh").filter((program) => program.startsWith("curl"));
  expect(uploads.length).toBe(2);
  const files = [];
  for (const program of uploads) files.push(JSON.parse(await shell(program, dir)) as { id: string; sha256: string });
  expect(files[0]?.id).toMatch(/^file_/);
  expect(files[0]?.sha256).toBe(files[1]?.sha256 ?? "");
});

test.skipIf(missing("curl"))("the shell programs about waiting wait for the end, and cancel", async () => {
  const [wait = "", cancel = ""] = programsOf("waiting", "sh");
  const dir = freshDir();
  const { id, status } = JSON.parse(await shell(wait, dir)) as { id: string; status: string };
  expect(status).toBe("succeeded");
  expect(await shell(cancel, dir, id)).toContain('"already_ended"');
});

test.skipIf(missing("curl"))(
  "the shell programs about limits limit a customer, submit for it and show what is left",
  async () => {
    const dir = freshDir();
    const [limit = "", submit = "", show = ""] = programsOf("limits", "sh");
    expect(JSON.parse(await shell(limit, dir))).toMatchObject({ id: "user-1207", limit_usd: 5, window: "day", spent_usd: 0 });
    const made = JSON.parse(await shell(submit, dir)) as { end_user: string; reserved_usd: number };
    expect(made.end_user).toBe("user-1207");
    const { left_usd: left, resets_at: resetsAt } = JSON.parse(await shell(show, dir)) as { left_usd: number; resets_at: string };
    expect([left > 0 && left < 5, resetsAt]).toEqual([true, expect.stringMatching(/T00:00:00/)]);
    expect(await shell(limit.replace("5,", "0,"), dir)).toContain('"left_usd":0');
    expect(await shell(submit.replace("limits-1", "limits-2"), dir)).toContain('"insufficient_credits"');
  },
);

/** A directory in which a program imports the client by its name. */
const withPackages = (): string => {
  const dir = freshDir();
  mkdirSync(join(dir, "node_modules/@genrouter/client"), { recursive: true });
  const main = join(ROOT, "client/src/client.ts");
  writeFileSync(join(dir, "node_modules/@genrouter/client/index.ts"), `export * from ${JSON.stringify(main)};\n`);
  writeFileSync(
    join(dir, "node_modules/@genrouter/client/package.json"),
    JSON.stringify({ name: "@genrouter/client", module: "index.ts", type: "module" }),
  );
  mkdirSync(join(dir, "node_modules/standardwebhooks"));
  const library = join(ROOT, "node_modules/standardwebhooks");
  writeFileSync(join(dir, "node_modules/standardwebhooks/index.ts"), `export * from ${JSON.stringify(library)};\n`);
  return dir;
};

test.each(["quick-start", "waiting"])("the TypeScript program of %s ends with a result", async (guide) => {
  const dir = withPackages();
  writeFileSync(join(dir, "program.ts"), firstOf(guide, "ts"));
  const { exit, out, err } = await run([process.execPath, "program.ts"], dir);
  expect([exit, err]).toEqual([0, ""]);
  expect(out).toMatch(guide === "waiting" ? /succeeded/ : /robot\.png/);
});

test.skipIf(missing("python3"))("the Python program of the quick start prints the links of the result", async () => {
  const dir = freshDir();
  writeFileSync(join(dir, "program.py"), firstOf("quick-start", "python"));
  const { exit, out, err } = await run(["python3", "program.py"], dir);
  expect([exit, err]).toEqual([0, ""]);
  expect(out.replace(/^\['/, "")).toMatch(RESULT);
});

const RECEIVERS = [
  { language: "ts", name: "receiver.ts", command: [process.execPath], isMissing: false },
  { language: "python", name: "receiver.py", command: ["python3"], isMissing: isWithoutPackage || missing("python3") },
];
for (const { language, name, command, isMissing } of RECEIVERS)
  test.skipIf(isMissing)(`the webhook receiver in ${language} accepts signed events once and refuses others`, async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const tenant = await scene.newTenant();
    const endpoint = await scene.endpoint({ url, events: ["generation.succeeded"] }, tenant);
    const dir = withPackages();
    writeFileSync(join(dir, name), firstOf("webhooks", language));
    const child = start([...command, join(dir, name)], envOf({ PORT: String(port), GENROUTER_WEBHOOK_SECRET: endpoint.secret }));
    children.push(child);
    const forged = () =>
      fetch(url, {
        method: "POST",
        body: "{}",
        headers: {
          "webhook-id": "evt_1",
          "webhook-timestamp": `${Math.floor(Date.now() / 1000)}`,
          "webhook-signature": "v1,AAAA",
        },
      }).catch(() => undefined);
    expect((await scene.eventually(forged, "a receiver that listens"))?.status).toBe(400);
    const id = await scene.generate("a red kite", tenant);
    await scene.eventually(() => child.output().includes(`generation.succeeded ${id}`), "the event");
    const delivery = await scene.eventually(
      async () => (await scene.deliveries(tenant)).find((each) => each.generation === id && each.state === "delivered"),
      "the delivery",
    );
    expect(delivery?.tries.map(({ status }) => status)).toEqual([204]);
    await scene.post(`/v1/webhook_deliveries/${delivery?.id}/redeliver`, undefined, tenant);
    await scene.settled(tenant);
    expect(child.output().split(id).length - 1).toBe(1);
  });
