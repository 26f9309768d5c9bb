// HTTP call to a provider: outcomes of every way in which a connection can end.
import { describe, expect, test } from "bun:test";
import { type Called, type CallRules, callProvider, provesNotSent, readJson } from "../../src/providers/http-call.ts";
import type { ProviderRequest } from "../../src/providers/port.ts";
import { SELF_SIGNED } from "./certificate.ts";
import { answerOf, CLOSED_PORT, openWire } from "./wire.ts";

const SECRET = "Key s3cr3t-s3cr3t";
const post = (url: string): ProviderRequest => ({
  method: "POST",
  url: `${url}/submit?signature=hidden`,
  headers: { "content-type": "application/json" },
  body: { prompt: "a fox" },
});
const rules = (more: Partial<CallRules> = {}): CallRules => ({
  headers: { authorization: SECRET },
  timeoutMs: 5_000,
  maxBytes: 1_048_576,
  signal: new AbortController().signal,
  ...more,
});
const expectQuiet = (called: Called) => {
  const text = JSON.stringify(called);
  for (const secret of ["s3cr3t", "hidden", "127.0.0.1"]) expect(text).not.toContain(secret);
};

describe("callProvider proves that nothing was sent", () => {
  test("for a refused connection", async () => {
    const called = await callProvider(post(`http://127.0.0.1:${CLOSED_PORT}`), rules());
    expect(called).toEqual({ kind: "not_sent", detail: "ECONNREFUSED" });
  });

  test("for an untrusted certificate, and the server receives no request", async () => {
    let bytes = 0;
    const server = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      tls: SELF_SIGNED,
      socket: {
        data(_, chunk) {
          bytes += chunk.length;
        },
        error() {},
      },
    });
    const called = await callProvider(post(`https://localhost:${server.port}`), rules());
    server.stop(true);
    expect(called).toEqual({ kind: "not_sent", detail: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    expect(bytes).toBe(0);
  });

  test("for a signal that was already aborted", async () => {
    using wire = openWire({});
    const called = await callProvider(post(wire.url), rules({ signal: AbortSignal.abort() }));
    expect(called.kind).toBe("not_sent");
    expect(wire.connections()).toBe(0);
  });

  for (const [code, proof] of [
    ["ECONNREFUSED", true],
    ["ENOTFOUND", true],
    ["CERT_HAS_EXPIRED", true],
    ["ERR_TLS_CERT_ALTNAME_INVALID", true],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", true],
    ["ECONNRESET", false],
    ["EPIPE", false],
    ["ETIMEDOUT", false],
    ["EAI_AGAIN", false],
    ["TimeoutError", false],
    ["Malformed_HTTP_Response", false],
    ["", false],
  ] as const)
    test(`for error code ${code || "none"}: ${proof}`, () => {
      expect(provesNotSent(code)).toBe(proof);
    });
});

describe("callProvider reports a broken call", () => {
  const ROWS: [name: string, script: Parameters<typeof openWire>[0], detail: string, timeoutMs?: number][] = [
    ["for a reset before the request was read", { opened: (s) => s.terminate() }, "ECONNRESET"],
    ["for a close after the request was read", { asked: (s) => void s.end() }, "ECONNRESET"],
    ["for a reset after the request was read", { asked: (s) => s.terminate() }, "ECONNRESET"],
    ["for no response after the request was read", {}, "no whole answer within 150 ms", 150],
    ["for an incomplete response head", { asked: (s) => void s.end("HTTP/1.1 200 O") }, "ECONNRESET"],
    [
      "for an incomplete body and a close",
      { asked: (s) => void s.end('HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"id') },
      "200, then ECONNRESET",
    ],
    [
      "for an incomplete body and a timeout",
      { asked: (s) => void s.write('HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"id') },
      "200, then no whole answer within 150 ms",
      150,
    ],
    [
      "for a response that is not HTTP",
      { asked: (s) => void s.end("220 mail.example ESMTP\r\n\r\n") },
      "Malformed_HTTP_Response",
    ],
    [
      "for an invalid chunk length",
      { asked: (s) => void s.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}") },
      "200, then ",
    ],
  ];
  for (const [name, script, detail, timeoutMs] of ROWS)
    test(name, async () => {
      using wire = openWire(script);
      const called = await callProvider(post(wire.url), rules(timeoutMs === undefined ? {} : { timeoutMs }));
      expect(called.kind).toBe("broken");
      if (called.kind === "broken") expect(called.detail).toStartWith(detail);
      expectQuiet(called);
      expect(wire.requests.length).toBeLessThanOrEqual(1);
    });

  test("for a TLS handshake without response", async () => {
    using wire = openWire({});
    const called = await callProvider(post(wire.url.replace("http:", "https:")), rules({ timeoutMs: 150 }));
    expect(called).toEqual({ kind: "broken", detail: "no whole answer within 150 ms" });
  });

  test("for an abort while the provider has the request", async () => {
    using wire = openWire({});
    const giver = new AbortController();
    const calling = callProvider(post(wire.url), rules({ signal: giver.signal }));
    await wire.arrived(1);
    giver.abort();
    expect(await calling).toEqual({ kind: "broken", detail: "given up while waiting for the answer" });
  });

  test("for a kept-alive connection that breaks on the second request, and does not resend it", async () => {
    let asked = 0;
    using wire = openWire({ asked: (s) => (++asked === 1 ? void s.write(answerOf(200, {})) : s.terminate()) });
    expect((await callProvider(post(wire.url), rules())).kind).toBe("answered");
    expect(await callProvider(post(wire.url), rules())).toEqual({ kind: "broken", detail: "ECONNRESET" });
    expect(wire.requests.length).toBe(2);
    expect(wire.connections()).toBe(1);
  });
});

describe("callProvider behind a proxy", () => {
  const NAMES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"] as const;
  const behind = async (proxy: string, call: () => Promise<Called>): Promise<Called> => {
    const before = NAMES.map((name) => [name, process.env[name]] as const);
    Object.assign(process.env, { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: "" });
    try {
      return await call();
    } finally {
      for (const [name, value] of before)
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
    }
  };

  test("returns not_sent if the proxy is down", async () => {
    const called = await behind(`http://127.0.0.1:${CLOSED_PORT}`, () => callProvider(post("https://provider.example"), rules()));
    expect(called).toEqual({ kind: "not_sent", detail: "ECONNREFUSED" });
  });

  test("reports a broken call if the proxy cannot reach the provider, and sends the proxy no credential", async () => {
    using proxy = openWire({ asked: (s) => void s.end("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n") });
    const called = await behind(proxy.url, () => callProvider(post("https://provider.example"), rules()));
    expect(called.kind).toBe("broken");
    expect(proxy.received()).not.toContain("s3cr3t");
  });

  test("calls a provider on the same host directly", async () => {
    using proxy = openWire({});
    using wire = openWire({ asked: (s) => void s.write(answerOf(200, {})) });
    expect((await behind(proxy.url, () => callProvider(post(wire.url), rules()))).kind).toBe("answered");
    expect(proxy.connections()).toBe(0);
  });
});

describe("a response", () => {
  test("has status, lower-case headers, JSON and text", async () => {
    using wire = openWire({ asked: (s) => void s.write(answerOf(201, { id: "j" }, { "X-Fal-Error-Type": "None" })) });
    const called = await callProvider(post(wire.url), rules());
    expect(called).toMatchObject({
      kind: "answered",
      response: { status: 201, json: { id: "j" }, text: '{"id":"j"}', headers: { "x-fal-error-type": "None" } },
    });
  });

  test("is requested uncompressed, with the credential and the unchanged body", async () => {
    using wire = openWire({ asked: (s) => void s.write(answerOf(200, {})) });
    await callProvider(post(wire.url), rules());
    const [request = ""] = wire.requests;
    expect(request).toContain(SECRET);
    expect(request.toLowerCase()).toContain("accept-encoding: identity\r\n");
    expect(request).toEndWith('\r\n\r\n{"prompt":"a fox"}');
  });

  for (const status of [301, 302, 303, 307, 308])
    test(`with status ${status} is returned, and the redirect is not followed`, async () => {
      using target = openWire({ asked: (s) => void s.write(answerOf(200, { id: "stolen" })) });
      using wire = openWire({ asked: (s) => void s.write(answerOf(status, "", { location: `${target.url}/` })) });
      const called = await callProvider(post(wire.url), rules());
      expect(called).toMatchObject({ kind: "answered", response: { status } });
      expect(target.connections()).toBe(0);
    });

  for (const [name, bytes, kind] of [
    ["exactly at the size limit", 1_000, "answered"],
    ["one byte over the size limit", 1_001, "broken"],
  ] as const)
    test(`${name} is ${kind}`, async () => {
      using wire = openWire({ asked: (s) => void s.write(answerOf(200, `"${"x".repeat(bytes - 2)}"`)) });
      expect((await callProvider(post(wire.url), rules({ maxBytes: 1_000 }))).kind).toBe(kind);
    });

  test("without end is broken at the size limit, and its connection is closed", async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const piece = new Uint8Array(65_536).fill(0x78);
    let sent = 0;
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () =>
        new Response(
          new ReadableStream({
            pull(controller) {
              sent += piece.length;
              controller.enqueue(piece);
            },
            cancel: () => resolve(),
          }),
        ),
    });
    const called = await callProvider(post(server.url.origin), rules({ maxBytes: 262_144 }));
    expect(called).toEqual({ kind: "broken", detail: "200, but over 262144 bytes" });
    await closed;
    await server.stop(true);
    expect(sent).toBeLessThan(64 * 1_048_576);
  });

  for (const heads of ["Content-Length: 10\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 10"])
    test(`with ${heads.replace("\r\n", ", ")} is limited by the received bytes`, async () => {
      const chunk = `800\r\n${"x".repeat(2_048)}\r\n`;
      using wire = openWire({ asked: (s) => void s.write(`HTTP/1.1 200 OK\r\n${heads}\r\n\r\n${chunk.repeat(40)}0\r\n\r\n`) });
      const called = await callProvider(post(wire.url), rules({ maxBytes: 1_000 }));
      expect(called).toEqual({ kind: "broken", detail: "200, but over 1000 bytes" });
    });

  test("that arrives byte by byte ends at the deadline of the whole call", async () => {
    const timers = new Set<ReturnType<typeof setInterval>>();
    using wire = openWire({
      asked: (s) => {
        s.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
        timers.add(setInterval(() => s.write("x"), 10));
      },
    });
    const called = await callProvider(post(wire.url), rules({ timeoutMs: 250 }));
    for (const timer of timers) clearInterval(timer);
    expect(called).toEqual({ kind: "broken", detail: "200, then no whole answer within 250 ms" });
  });

  const compressed = async (packed: Uint8Array<ArrayBuffer>, maxBytes: number, headers: Record<string, string>) => {
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(packed, { headers }) });
    const called = await callProvider(post(server.url.origin), rules({ maxBytes }));
    await server.stop(true);
    return called;
  };
  const packed = Bun.gzipSync(Buffer.from(JSON.stringify({ request_id: "x".repeat(9_000) })));
  for (const headers of [{ "content-encoding": "gzip" }, {}] as Record<string, string>[])
    test(`with gzip is decompressed, content-encoding: ${headers["content-encoding"] ?? "none"}`, async () => {
      const called = await compressed(packed, 10_000, headers);
      expect(called).toMatchObject({ kind: "answered", response: { json: { request_id: "x".repeat(9_000) } } });
    });
  test("with gzip is broken when the decompressed bytes exceed the size limit", async () => {
    const called = await compressed(packed, 8_000, { "content-encoding": "gzip" });
    expect(called).toEqual({ kind: "broken", detail: "200, but over 8000 bytes" });
  });
  test("with damaged gzip is broken", async () => {
    const called = await compressed(packed.subarray(0, packed.length - 9), 10_000, { "content-encoding": "gzip" });
    expect(called).toEqual({ kind: "broken", detail: "200, then compressed, and it cannot be decoded" });
  });
});

describe("readJson", () => {
  for (const [name, text, expected] of [
    ["reads plain JSON", '{"a":[1]}', { a: [1] }],
    [
      "reads brackets inside strings",
      `{"a":"${"[".repeat(200)}\\"${"{".repeat(200)}"}`,
      { a: `${"[".repeat(200)}"${"{".repeat(200)}` },
    ],
    ["reads 64 levels of nesting", "[".repeat(64) + "]".repeat(64), "any"],
  ] as const)
    test(name, () => {
      if (expected === "any") expect(readJson(text)).toBeDefined();
      else expect(readJson(text)).toEqual(expected);
    });

  for (const text of ["", "<html>", '{"a":', "[".repeat(65) + "]".repeat(65), "[".repeat(500_000)])
    test(`returns undefined for ${text.slice(0, 12)}… of ${text.length} characters`, () => {
      expect(readJson(text)).toBeUndefined();
    });
});
