// The unchanged examples against a service: each saves the files, is charged once per key, and reports errors by its exit code.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type Harness, openHarness } from "../harness.ts";

const EXAMPLES = join(import.meta.dir, "../../examples");
const PROGRAMS: { language: string; command: string[]; file: string }[] = [
  { language: "curl", command: ["bash"], file: "curl/generate.sh" },
  { language: "TypeScript", command: [process.execPath], file: "typescript/generate.ts" },
  { language: "Python", command: ["python3"], file: "python/generate.py" },
];
const NEEDED: Readonly<Record<string, string>> = { curl: "curl", Python: "python3" };
const missing = ({ language }: (typeof PROGRAMS)[number]): boolean => {
  const tool = NEEDED[language];
  if (tool === undefined || Bun.which(tool) !== null) return false;
  process.stdout.write(`skipped: the ${language} example (${tool} is not installed)\n`);
  return true;
};

let harness: Harness;
beforeAll(async () => {
  harness = await openHarness();
});
afterAll(async () => {
  await harness.close();
  dropDirs();
});

const IMAGE = ["sim-image-1", '{"prompt": "a tin robot, \\"status\\": \\"failed\\""}', "robot.png"];
const FAILING = ["vidmodel-2.0-fast", '{"prompt": "[sim:fail-later]", "duration": 4, "resolution": "480p"}', "kite.mp4"];

for (const program of PROGRAMS) {
  const { language, command, file } = program;
  const run = async (words: string[], cwd: string, env: Record<string, string>) => {
    const child = Bun.spawn([...command, join(EXAMPLES, file), ...words], {
      cwd,
      env: { PATH: process.env.PATH ?? "", GENROUTER_URL: harness.url, ...env },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { exit: await child.exited, out, err };
  };

  test.skipIf(missing(program))(
    `the ${language} example saves both images, is charged once for a repeated call, and exits with an error code for a failure`,
    async () => {
      const [dir, tenant] = [freshDir(), await harness.newTenant()];
      const env = { GENROUTER_API_KEY: tenant.key, IDEMPOTENCY_KEY: "order-9" };
      const [first, failed, refused, unset] = await Promise.all([
        run(IMAGE, dir, env),
        run(FAILING, dir, { GENROUTER_API_KEY: tenant.key }),
        run(["vidmodel-9", "{}", "kite.mp4"], dir, { GENROUTER_API_KEY: tenant.key }),
        run(IMAGE, dir, {}),
      ]);
      expect(first).toEqual({ exit: 0, out: "robot.png\nrobot-2.png\n", err: expect.any(String) });
      for (const name of ["robot.png", "robot-2.png"])
        expect((await new Bun.Image(await Bun.file(join(dir, name)).bytes()).metadata()).format).toBe("png");
      expect([failed.exit, failed.err]).toEqual([1, expect.stringContaining("provider_failed")]);
      expect([refused.exit, refused.err]).toEqual([2, expect.stringContaining("model_not_available")]);
      expect([unset.exit, unset.err]).toEqual([2, expect.stringContaining("GENROUTER_API_KEY")]);

      const before = await harness.balance(tenant);
      expect(before.charged).toBeGreaterThan(0);
      expect((await run([...IMAGE.slice(0, 2), "again.png"], dir, env)).exit).toBe(0);
      expect(await harness.balance(tenant)).toEqual(before);
      expect(readFileSync(join(dir, "again.png"))).toEqual(readFileSync(join(dir, "robot.png")));
      expect(readdirSync(dir).sort()).toEqual(["again-2.png", "again.png", "robot-2.png", "robot.png"]);
    },
  );

  // curl reports nothing before its last try.
  test.skipIf(missing(program) || language === "curl")(
    `the ${language} example says after the first lost connection that it tries again`,
    async () => {
      const child = Bun.spawn([...command, join(EXAMPLES, file), ...IMAGE], {
        cwd: freshDir(),
        // No process listens at the port of "discard".
        env: { PATH: process.env.PATH ?? "", GENROUTER_URL: "http://127.0.0.1:9", GENROUTER_API_KEY: "gr_test_x" },
        stdout: "ignore",
        stderr: "pipe",
      });
      const { value } = await child.stderr.getReader().read();
      expect(new TextDecoder().decode(value)).toMatch(/^no answer from http:\/\/127\.0\.0\.1:9: .+; try 2 of 10 in 0\.5 s\n/);
      child.kill();
      await child.exited;
    },
  );

  test.skipIf(missing(program))(`the ${language} example prints its usage comment for --help`, async () => {
    const { exit, out } = await run(["--help"], freshDir(), {});
    expect(exit).toBe(0);
    expect(out).toContain("export GENROUTER_URL=http://127.0.0.1:8080 GENROUTER_API_KEY=gr_test_...");
    expect(out).not.toContain("import ");
  });
}
