// Asks the doctor and looks for its lines, for the tests of what it finds.
import { expect } from "bun:test";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { runHere } from "./captured.ts";

export const KEYED = { GENROUTER_PROVIDERS__FAL__KEY: "canary-key" };

/** What it finds in a directory; whatever that is, it ends as it should, names what mends it, and tells no key. */
export const doctor = async (dir: string, env: Record<string, string> = KEYED, more: string[] = []): Promise<Finding[]> => {
  const { exit, out, err } = await runHere(["doctor", "--json", "--data", dir, ...more], env);
  expect([err, out]).toEqual(["", expect.not.stringContaining("canary-key")]);
  const { ok, findings }: { ok: boolean; findings: Finding[] } = JSON.parse(out);
  expect([exit as number, ok]).toEqual(findings.some(({ level }) => level === "fault") ? [1, false] : [0, true]);
  for (const { level, fix } of findings) expect(fix === null).toBe(level === "ok");
  return findings;
};

/** One of them is this. */
export const has = (findings: Finding[], area: string, level: Finding["level"], says: RegExp, fix?: RegExp): void => {
  expect(findings).toContainEqual({
    ...{ area, level, says: expect.stringMatching(says) },
    fix: level === "ok" ? null : expect.stringMatching(fix ?? /./),
  });
};
