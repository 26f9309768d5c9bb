// Error details from providers: one short line without secrets, for any input.
import { describe, expect, test } from "bun:test";
import { detailOf } from "../../src/providers/parse-response.ts";

describe("a detail", () => {
  test("is one line, and its URLs have no query and no user info", () => {
    expect(detailOf(400, "see\n https://a.example/x?sig=1 and https://me:pw@b.example/y")).toBe(
      "400: see https://a.example/x and https://b.example/y",
    );
  });
  test("of up to 1 MB of URLs is at most 200 characters long and takes less than one second", () => {
    const startedMs = performance.now();
    for (const word of ["http://", "http://a/", "https://a@"])
      expect(detailOf(word.repeat(100_000)).length).toBeLessThanOrEqual(200);
    expect(performance.now() - startedMs).toBeLessThan(1_000);
  });
  test("contains no part of the password of a URL that was cut", () => {
    // Removing the long query moves the end of the text to the front.
    const before = `https://a.example/x?${"q".repeat(1_960)} `;
    expect(detailOf(`${before}https://user:passwordpassword@b.example/`)).not.toContain("pass");
  });
});
