// Words of providers on their way to the operator: one short line, without secrets, whatever comes.
import { describe, expect, test } from "bun:test";
import { detailOf } from "../../src/providers/parse-response.ts";

describe("a detail", () => {
  test("is one line, and its addresses are without their queries and users", () => {
    expect(detailOf(400, "see\n https://a.example/x?sig=1 and https://me:pw@b.example/y")).toBe(
      "400: see https://a.example/x and https://b.example/y",
    );
  });
  test("of a megabyte of addresses is made at once", () => {
    const startedMs = performance.now();
    for (const word of ["http://", "http://a/", "https://a@"])
      expect(detailOf(word.repeat(100_000)).length).toBeLessThanOrEqual(200);
    expect(performance.now() - startedMs).toBeLessThan(1_000);
  });
  test("shows nothing of an address that was cut before the place where its secret ends", () => {
    // The long query is taken away, so that what stood at the end moves to the front.
    const before = `https://a.example/x?${"q".repeat(1_960)} `;
    expect(detailOf(`${before}https://user:passwordpassword@b.example/`)).not.toContain("pass");
  });
});
