// Events of bucket health: unavailable, recovered and access denied, without repetition.
import { describe, expect, test } from "bun:test";
import { BucketError } from "../../../src/files/s3/errors.ts";
import { createBucketHealth } from "../../../src/files/s3/health.ts";

const scene = (reportedFaults = new Set<symbol>(), reported: string[] = []) => {
  let nowMs = Date.UTC(2026, 0, 1);
  const standing = createBucketHealth({
    clock: { nowMs: () => nowMs },
    chance: () => 0,
    report: (event) => reported.push(event),
    consequence: "nothing is lost",
    reportedFaults,
  });
  const fail = (kind: "unavailable" | "refused") => {
    standing.failed(new BucketError(kind, "SlowDown", "the bucket answers 503"));
    nowMs = Math.max(nowMs, standing.againAtMs());
  };
  return { reported, reportedFaults, standing, fail, wait: (ms: number) => (nowMs += ms) };
};

describe("bucket health", () => {
  test("reports unavailable after two failures in a row and recovered after a success, once each", () => {
    const { reported, standing, fail } = scene();
    fail("unavailable");
    expect(reported).toEqual([]);
    for (let n = 0; n < 5; n++) fail("unavailable");
    expect(reported).toEqual(["object storage unavailable"]);
    for (let n = 0; n < 5; n++) standing.worked();
    expect(reported).toEqual(["object storage unavailable", "object storage recovered"]);
  });

  test("reports recovered once, after the last tracker of the bucket has recovered", () => {
    const results = scene();
    const uploads = scene(results.reportedFaults, results.reported);
    for (const { fail } of [results, uploads]) for (let n = 0; n < 3; n++) fail("unavailable");
    const both = ["object storage unavailable", "object storage unavailable"];
    uploads.standing.worked();
    expect(results.reported).toEqual(both);
    results.standing.worked();
    uploads.standing.worked();
    expect(results.reported).toEqual([...both, "object storage recovered"]);
  });

  test("reports access denied at the first rejection", () => {
    const { reported, fail } = scene();
    fail("refused");
    fail("refused");
    expect(reported).toEqual(["object storage access denied"]);
  });

  test("reports unavailable and recovered at most once a minute when they alternate", () => {
    const { reported, standing, fail, wait } = scene();
    // Two failures and a success in three seconds, for five minutes.
    for (let s = 0; s < 300; s += 3) {
      const beganMs = wait(0);
      fail("unavailable");
      fail("unavailable");
      standing.worked();
      wait(beganMs + 3000 - wait(0));
    }
    expect(reported.filter((event) => event === "object storage unavailable").length).toBe(5);
    expect(reported.filter((event) => event === "object storage recovered").length).toBe(5);
  });

  test("reports unavailable again when failures continue shortly after a recovery", () => {
    const { reported, standing, fail } = scene();
    fail("unavailable");
    fail("unavailable");
    standing.worked();
    for (let n = 0; n < 20; n++) fail("unavailable");
    expect(reported).toEqual(["object storage unavailable", "object storage recovered", "object storage unavailable"]);
  });

  test("reports unavailable again although the clock was set back in between", () => {
    const { reported, standing, fail, wait } = scene();
    fail("unavailable");
    fail("unavailable");
    standing.worked();
    wait(-3_600_000);
    fail("unavailable");
    fail("unavailable");
    expect(reported).toEqual(["object storage unavailable", "object storage recovered", "object storage unavailable"]);
  });
});
