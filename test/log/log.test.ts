// Log output: JSON lines or pretty lines, each complete, and none lost at process exit.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { prettyLine } from "../../src/logging/pretty.ts";

const LOG = join(import.meta.dir, "../../src/logging/logger.ts");

/** The output of a process that logs four lines and exits at once. */
const linesOf = (settings: object, place: object): string[] => {
  const code = `import { createLog } from ${JSON.stringify(LOG)};
    const log = createLog(${JSON.stringify(settings)}, ${JSON.stringify(place)});
    log("service listening", { url: "http://h", pid: 1 });
    log("read completed", { route: "/x" });
    log("request failed", { reason: 'a "quoted" reason\\nand more' });
    log("service stopped");
    process.exit(0);`;
  const ran = Bun.spawnSync([process.execPath, "-e", code], { stderr: "pipe" });
  return ran.stderr.toString().trimEnd().split("\n");
};

test("writes one JSON object per line with time, level and fields when the output is not a terminal", () => {
  const lines = linesOf({ level: "info", format: "auto", prompts: false }, { isTty: false, colour: false });
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    { level: "info", time: expect.stringMatching(/^\d{4}-.*Z$/), url: "http://h", pid: 1, msg: "service listening" },
    { level: "error", time: expect.any(String), reason: 'a "quoted" reason\nand more', msg: "request failed" },
    { level: "info", time: expect.any(String), msg: "service stopped" },
  ]);
});

test.each([
  [{ format: "auto" }, { isTty: true, colour: false }, false],
  [{ format: "pretty" }, { isTty: false, colour: false }, false],
  [{ format: "json" }, { isTty: true, colour: true }, true],
])("with settings %p and output %p the lines are JSON: %p", (settings, place, isJson) => {
  const lines = linesOf({ level: "info", prompts: false, ...settings }, place);
  expect(lines).toHaveLength(3);
  expect(lines.every((line) => line.startsWith("{"))).toBe(isJson);
});

test("prettyLine escapes line breaks in fields and uses colours only on request", () => {
  const json = JSON.stringify({
    level: "warn",
    time: "2026-11-21T12:00:01.250Z",
    state: "open",
    reason: 'two\nlines "and" more',
    msg: "route state changed",
  });
  expect(prettyLine(json, false)).toBe(
    '12:00:01.250 warn  route state changed      state=open reason="two\\nlines \\"and\\" more"\n',
  );
  expect(prettyLine(json, true)).toContain("\u001b[33mwarn ");
  expect(Bun.stripANSI(prettyLine(json, true))).toBe(prettyLine(json, false));
});
