// Signed links have CORS headers, so that a web page can fetch its own result.
import { expect, test } from "bun:test";
import { png } from "../media/made.ts";
import { openDelivery, whole } from "./delivery.ts";

const FROM = { origin: "https://app.example" };

test("sends CORS headers for every origin on signed links, for full, partial, HEAD and error responses", async () => {
  const bytes = await png(40, 30);
  const delivery = await openDelivery("image", () => whole(bytes));
  const shown = await delivery.order();
  const link = shown.output?.urls[0] ?? "";
  const asked: [string, number, RequestInit][] = [
    [link, 200, {}],
    [link, 200, { method: "HEAD" }],
    [link, 206, { headers: { ...FROM, range: "bytes=0-9" } }],
    [link, 416, { headers: { ...FROM, range: "bytes=99999999-" } }],
    [`${link}x`, 403, {}],
    [link.replace(/exp=\d+/, "exp=1000000000"), 403, {}],
    [link.replace(/gen_\w+/, "gen_0"), 404, {}],
  ];
  for (const [url, status, init] of asked) {
    const answer = await fetch(url, { headers: FROM, ...init });
    expect(answer.status).toBe(status);
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
    const exposed = answer.headers.get("access-control-expose-headers") ?? "";
    for (const name of ["Content-Length", "Content-Range", "Content-Disposition", "Accept-Ranges", "ETag"])
      expect(exposed).toContain(name);
  }
});

test("allows range headers in the response to a CORS preflight of a signed link", async () => {
  const delivery = await openDelivery("image", async () => whole(await png(8, 8)));
  const shown = await delivery.order();
  const answer = await fetch(shown.output?.urls[0] ?? "", {
    method: "OPTIONS",
    headers: { ...FROM, "access-control-request-method": "GET", "access-control-request-headers": "range, if-range" },
  });
  expect(answer.status).toBe(204);
  expect(answer.headers.get("access-control-allow-origin")).toBe("*");
  expect(answer.headers.get("access-control-allow-methods")).toBe("GET, HEAD, OPTIONS");
  for (const name of ["range", "if-range", "if-none-match"])
    expect(answer.headers.get("access-control-allow-headers")?.toLowerCase()).toContain(name);
});

test("sends no CORS headers on endpoints that require an API key", async () => {
  const delivery = await openDelivery("image", async () => whole(await png(8, 8)));
  const { id } = await delivery.order();
  for (const path of [`/v1/generations/${id}`, `/v1/generations/${id}/content`]) {
    for (const method of ["GET", "OPTIONS"]) {
      const answer = await fetch(`${delivery.url}${path}`, {
        method,
        headers: { ...FROM, authorization: `Bearer ${delivery.tenant.key}`, "access-control-request-method": "GET" },
      });
      await answer.body?.cancel();
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    }
  }
});
