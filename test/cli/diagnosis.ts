// Runs `genrouter doctor` and searches its findings, for the tests of the doctor.
import { expect } from "bun:test";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { runHere } from "./captured.ts";

export const KEYED = { GENROUTER_PROVIDERS__FAL__KEY: "canary-key" };

/** Findings for a directory. Also checks the exit code, that each problem has a fix, and that no key is printed. */
export const doctor = async (dir: string, env: Record<string, string> = KEYED, more: string[] = []): Promise<Finding[]> => {
  const { exit, out, err } = await runHere(["doctor", "--json", "--data", dir, ...more], env);
  expect([err, out]).toEqual(["", expect.not.stringContaining("canary-key")]);
  const { ok, findings }: { ok: boolean; findings: Finding[] } = JSON.parse(out);
  expect([exit as number, ok]).toEqual(findings.some(({ level }) => level === "fault") ? [1, false] : [0, true]);
  for (const { level, fix } of findings) expect(fix === null).toBe(level === "ok");
  return findings;
};

/** Expects that one of the findings matches. */
export const has = (findings: Finding[], area: string, level: Finding["level"], says: RegExp, fix?: RegExp): void => {
  expect(findings).toContainEqual({
    ...{ area, level, says: expect.stringMatching(says) },
    fix: level === "ok" ? null : expect.stringMatching(fix ?? /./),
  });
};
