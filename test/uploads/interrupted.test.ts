// A short upload program: uploads interrupted at random moments in every store, and a judge that can fail.
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { killAll } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { casesOfShare } from "../case-share.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { postgresReason } from "../postgres/binaries.ts";
import { playUploadControl, UPLOAD_CONTROLS } from "./control.ts";
import { playUploads, WORLDS } from "./killed-world.ts";

setDefaultTimeout(240_000);
afterAll(() => {
  killAll();
  dropDirs();
});

const UPLOADS = 150;
const seed = Date.now() % 1_000_000;
const say = (line: string) => process.stdout.write(`  seed ${seed}: ${line}\n`);

describe("uploads interrupted at random moments", () => {
  for (const name of casesOfShare("stores of uploads", WORLDS, (one) => one))
    test.skipIf(name === "shared" && postgresReason !== undefined)(
      `leave whole files and no other bytes, and move no credits (${name})`,
      async () => {
        const end = await playUploads({ name, dir: freshDir(), uploads: UPLOADS, seed, genrouter: PROGRAM, say });
        expect(end.checks.filter(({ faults }) => faults.length > 0)).toEqual([]);
        expect(end.figures.uploads).toBeGreaterThanOrEqual(UPLOADS);
        expect(end.figures.acknowledged).toBeGreaterThan(0);
        expect(end.figures.killedWithService).toBeGreaterThan(0);
      },
    );
});

describe("the judge of uploads fails", () => {
  for (const control of casesOfShare("controls of uploads", UPLOAD_CONTROLS, ({ name }) => name))
    test(`if ${control.name}`, async () => {
      expect(await playUploadControl(control, { dir: freshDir(), seed, say })).toMatchObject({ faults: [] });
    });
});
