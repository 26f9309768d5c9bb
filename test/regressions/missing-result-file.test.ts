// Missing or truncated result files: 404 for clients, a fault for the operator.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { pathOfFile } from "../../src/files/local.ts";
import type { CheckResult } from "../../src/store/store.ts";
import { runHere } from "../cli/captured.ts";
import { doctor, has } from "../cli/diagnosis.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { testClock } from "../clock.ts";
import { openVisitor, type Visitor } from "../console/signed-in.ts";
import { type GenerationResource, type Harness, openHarness } from "../harness.ts";

let dir: string;
let harness: Harness;
let visitor: Visitor;
let whole: GenerationResource;
let lost: GenerationResource;
beforeEach(async () => {
  dir = freshDir();
  const clock = testClock(100);
  // The commands that check the files use the real time.
  clock.skip(Date.now() - clock.nowMs());
  harness = await openHarness({ dir, clock });
  visitor = await openVisitor(harness, "operator", harness.tenant);
  const make = async (model: string) => harness.until((await harness.submit(model, { prompt: "a kite" })).id);
  [whole, lost] = [await make("sim-image-1"), await make("sim-image-1")];
});
afterEach(async () => {
  await harness.close();
  dropDirs();
});

const checks = async () => {
  const { exit, out } = await runHere(["verify", "--json", "--data", dir]);
  const found = (JSON.parse(out) as { checks: CheckResult[] }).checks.find(({ invariant }) => invariant === 5);
  return { exit: exit as number, ok: found?.ok, offending: found?.offending };
};
const deep = () => doctor(dir, {}, ["--deep"]);
const SAYS = "The stored file is missing. The operator has been notified.";

test("a missing result file is 404 by key, link and console, is logged, and fails doctor --deep and verify", async () => {
  has(await deep(), "files", "ok", /^4 result files, and all exist/);
  expect(await checks()).toEqual({ exit: 0, ok: true, offending: [] });
  rmSync(join(dir, "files", pathOfFile(lost.id, 1)));
  const link = lost.output?.urls[0] ?? "";
  const answers = [
    await harness.request("GET", `/v1/generations/${lost.id}/content`),
    await harness.request("GET", link.slice(harness.url.length), { key: null }),
    await harness.request("GET", `/console/api/generations/${lost.id}/files/1`, {
      key: null,
      headers: { cookie: visitor.cookie },
    }),
  ];
  for (const { status, body } of answers) expect([status, body.error]).toMatchObject([404, { code: "not_found", message: SAYS }]);
  const lines = harness.lines.filter(({ event }) => event === "file missing");
  expect(new Set(lines.map(({ fields }) => `${fields.generation_id} ${fields.file_no}`))).toEqual(new Set([`${lost.id} 1`]));
  expect(harness.lines.filter(({ event }) => event === "request failed")).toEqual([]);
  expect((await harness.request("GET", `/v1/generations/${whole.id}/content`)).status).toBe(200);
  has(
    await deep(),
    "files",
    "fault",
    new RegExp(`^1 of 4 result files cannot be read, the first 1 of ${lost.id}: .*missing`),
    /backup/,
  );
  truncateSync(join(dir, "files", pathOfFile(whole.id, 1)), 10);
  const { exit, offending } = await checks();
  expect(exit).toBe(1);
  const cut = { generation: whole.id, n: 1, fault: expect.stringMatching(/has 10 bytes, not \d+/) };
  const gone = { generation: lost.id, n: 1, fault: "the stored file is missing" };
  expect(offending).toEqual(whole.id < lost.id ? [cut, gone] : [gone, cut]);
});

test("a truncated result file is 404 and the log has its remaining size", async () => {
  const cut = await harness.until((await harness.submit("sim-image-1", { prompt: "a kite" })).id);
  for (const left of [10, 0]) {
    truncateSync(join(dir, "files", pathOfFile(cut.id, 1)), left);
    const { status, body } = await harness.request("GET", `/v1/generations/${cut.id}/content`);
    expect([status, body.error]).toMatchObject([404, { code: "not_found", message: SAYS }]);
    const reported = harness.lines.findLast(({ event }) => event === "file missing");
    expect(reported?.fields).toMatchObject({ generation_id: cut.id, file_no: 1 });
    expect(reported?.fields.reason).toMatch(new RegExp(`^the stored file has ${left} bytes, not \\d+$`));
  }
});

test("verify passes for a database without files and notes that it did not check result files", async () => {
  const copy = freshDir();
  await runHere(["accounts", "create", "--name", "a", "--data", copy]);
  const { out } = await runHere(["verify", "--json", "--data", copy]);
  const found = (JSON.parse(out) as { checks: CheckResult[] }).checks.find(({ invariant }) => invariant === 5);
  expect([found?.ok, found?.note]).toEqual([true, expect.stringContaining("result files were not checked")]);
});
