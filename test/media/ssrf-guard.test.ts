// SSRF guard: addresses, spellings, schemes, ports, and a listener that must get no connection.
import { describe, expect, test } from "bun:test";
import { type FetchOptions, guardedFetch } from "../../src/media/guarded-fetch.ts";
import { BadAllowEntry, readAllowed } from "../../src/media/host-allowlist.ts";
import { type Forbidden, isPublicAddress, type Resolve, vetAddresses, vetUrl } from "../../src/media/ssrf-guard.ts";

const noHost = () => false;

const NOT_PUBLIC = `0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.254 127.0.0.1 127.255.255.255 169.254.0.1
169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255
198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1
::ffff:7f00:1 ::ffff:a9fe:a9fe ::ffff:0:7f00:1 64:ff9b::7f00:1 64:ff9b:1::1 100::1 2001::1 2001:2::1 2001:10::1 2001:20::1
2001:db8::1 2002:7f00:1:: 3fff::1 5f00::1 fc00::1 fd12:3456::1 fe80::1 fe80::1%eth0 febf::1 fec0::1 ff02::1`.split(/\s+/);
const PUBLIC =
  "1.1.1.1 8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.167.1.1 198.17.1.1 223.255.255.255 2606:4700::1111 2001:4860:4860::8888 2a00:1450:4001::1 ::ffff:8.8.8.8".split(
    " ",
  );

describe("addresses", () => {
  test.each(NOT_PUBLIC)("%s is not public", (address) => expect(isPublicAddress(address)).toBe(false));
  test.each(PUBLIC)("%s is public", (address) => expect(isPublicAddress(address)).toBe(true));
  test.each(["", "example.com", "1.2.3", "1.2.3.4.5", "::g", "256.1.1.1"])("%p is neither an address nor public", (text) =>
    expect(isPublicAddress(text)).toBe(false),
  );
  test("the table of addresses that are not public has at least 34 entries and no duplicate", () => {
    expect(NOT_PUBLIC.length).toBeGreaterThanOrEqual(34);
    expect(new Set(NOT_PUBLIC).size).toBe(NOT_PUBLIC.length);
  });
});

const LOOPBACK = [
  "127.0.0.1",
  "127.1",
  "127.0.1",
  "2130706433",
  "0x7f000001",
  "0x7f.1",
  "0x7f.0x0.0x0.0x1",
  "0177.0.0.1",
  "017700000001",
  "127.0.0.1.",
  "%31%32%37.0.0.1",
  "①②⑦.⓪.⓪.①",
  "127。0。0。1",
  "0",
  "0.0.0.0",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::]",
  "[::7f00:1]",
];

describe("URLs", () => {
  test.each(LOOPBACK)("rejects loopback written as %s", (host) => {
    expect(vetUrl(`https://${host}/x.png`, noHost)).toEqual({ kind: "forbidden", why: "its host has no public address" });
  });
  test.each(NOT_PUBLIC.filter((address) => !address.includes("%")))("rejects the literal address %s", (address) => {
    expect(vetUrl(`https://${address.includes(":") ? `[${address}]` : address}/`, noHost).kind).toBe("forbidden");
  });

  const refused: [string, string][] = [
    ["http://example.com/a.png", "only https"],
    ["ftp://example.com/a.png", "only https"],
    ["file:///etc/passwd", "only https"],
    ["data:image/png;base64,AAAA", "only https"],
    ["javascript:alert(1)", "only https"],
    ["https://example.com:22/", "port 443"],
    ["https://example.com:80/", "port 443"],
    ["https://8.8.8.8:8443/", "port 443"],
    ["https://user@example.com/", "user name"],
    ["https://user:pass@example.com/", "user name"],
    ["https://:pass@example.com/", "user name"],
    ["https:\\\\127.0.0.1\\x", "no public address"],
    ["https://127.0.0.1\\@example.com/", "no public address"],
    ["https://[fe80::1%25eth0]/", "not a URL"],
    ["https://", "not a URL"],
    ["not a url", "not a URL"],
    ["", "not a URL"],
  ];
  test.each(refused)("rejects %s", (url, why) => {
    const verdict = vetUrl(url, noHost);
    expect(verdict.kind).toBe("forbidden");
    expect(verdict.kind === "forbidden" && verdict.why).toContain(why);
  });

  const taken: [string, string][] = [
    ["https://example.com/a.png?b=c", "https://example.com/a.png?b=c"],
    ["https://example.com:443/a", "https://example.com/a"],
    ["https://EXAMPLE.com./a", "https://example.com/a"],
    ["https://8.8.8.8/", "https://8.8.8.8/"],
    ["https://[2606:4700::1111]/", "https://[2606:4700::1111]/"],
    ["https://bücher.example/", "https://xn--bcher-kva.example/"],
  ];
  test.each(taken)("accepts %s", (url, href) => {
    const verdict = vetUrl(url, noHost);
    expect(verdict.kind === "vetted" && [verdict.url.href, verdict.trusted]).toEqual([href, false]);
  });

  test("rejects a name if one of its addresses is private", async () => {
    const vetted = vetUrl("https://example.com/", noHost);
    if (vetted.kind !== "vetted") throw new Error("not vetted");
    const verdict = (addresses: string[]) => vetAddresses(vetted, async () => addresses);
    const no: Forbidden = { kind: "forbidden", why: "its host has no public address" };
    expect(await verdict(["8.8.8.8", "10.0.0.1"])).toEqual(no);
    expect(await verdict(["2606:4700::1111", "::1"])).toEqual(no);
    expect(await verdict([])).toEqual(no);
    expect(await vetAddresses(vetted, () => Promise.reject(new Error("ENOTFOUND")))).toEqual(no);
    expect(await verdict(["2606:4700::1111", "8.8.8.8"])).toEqual(["8.8.8.8", "2606:4700::1111"]);
  });
});

describe("host allowlist", () => {
  const rows: [string, string, boolean][] = [
    ["localhost", "localhost", true],
    ["localhost", "localhost:9000", true],
    ["LocalHost.", "localhost:9000", true],
    ["localhost:9000", "localhost:9000", true],
    ["localhost:9000", "localhost:9001", false],
    ["localhost:9000", "localhost", false],
    ["cdn.example:443", "cdn.example", true],
    ["cdn.example", "evil-cdn.example", false],
    ["cdn.example", "a.cdn.example", false],
    ["cdn.example", "cdn.example.evil", false],
    ["127.0.0.1", "127.0.0.1:1", true],
    ["127.1", "127.0.0.1", true],
    ["[::1]:80", "[::1]", true],
    ["[::1]", "[::1]:8080", true],
    [" a.example , b.example:8080 ", "b.example:8080", true],
    ["", "example.com", false],
  ];
  test.each(rows)("allowlist %p, host %p: allowed is %p", (setting, host, isAllowed) =>
    expect(readAllowed(setting)(host)).toBe(isAllowed),
  );
  test.each(["http://a.example", "a.example/x", "a b", "user@a.example", "a.example:99999", "::1"])(
    "rejects the entry %p",
    (entry) => expect(() => readAllowed(entry)).toThrow(BadAllowEntry),
  );
});

describe("guardedFetch()", () => {
  const listen = async (visit: (port: number, seen: () => number) => Promise<void>) => {
    let connections = 0;
    const listener = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open: (socket) => {
          connections++;
          socket.end("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret");
        },
        data: () => {},
      },
    });
    try {
      await visit(listener.port, () => connections);
    } finally {
      listener.stop(true);
    }
  };
  const options = (more: Partial<FetchOptions> = {}): FetchOptions => ({
    signal: AbortSignal.timeout(5000),
    allows: noHost,
    ...more,
  });

  test("opens no direct connection to a forbidden address, unless the guard is off", async () => {
    await listen(async (port, seen) => {
      const url = `http://127.0.0.1:${port}/`;
      expect((await guardedFetch(url, options())).kind).toBe("forbidden");
      expect((await guardedFetch(`https://127.0.0.1:${port}/`, options())).kind).toBe("forbidden");
      expect(seen()).toBe(0);
      const reached = await guardedFetch(url, options({ guard: "off" }));
      expect(reached.kind === "answered" && (await reached.response.text())).toBe("secret");
      expect(seen()).toBe(1);
    });
  });

  test("follows no redirect to a forbidden address, unless the guard is off", async () => {
    await listen(async (port, seen) => {
      using server = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch: () => Response.redirect(`http://127.0.0.1:${port}/`, 302),
      });
      const allows = readAllowed(`127.0.0.1:${server.port}`);
      const url = server.url.href;
      expect(await guardedFetch(url, options({ allows }))).toEqual({ kind: "forbidden", why: "only https URLs are opened" });
      expect(seen()).toBe(0);
      expect((await guardedFetch(url, options({ guard: "off" }))).kind).toBe("answered");
      expect(seen()).toBe(1);
    });
  });

  test("opens no connection to a name that later resolves to a forbidden address, unless the guard is off", async () => {
    await listen(async (port, seen) => {
      let asked = 0;
      const rebinding: Resolve = async () => (asked++ === 0 ? ["8.8.8.8", "127.0.0.1"] : ["127.0.0.1"]);
      for (let n = 0; n < 3; n++)
        expect((await guardedFetch("https://rebind.example/", options({ resolve: rebinding }))).kind).toBe("forbidden");
      expect(asked).toBe(3);
      expect(seen()).toBe(0);
      const url = `http://rebind.example:${port}/`;
      expect((await guardedFetch(url, options({ resolve: rebinding, guard: "off" }))).kind).toBe("answered");
      expect(seen()).toBe(1);
    });
  });

  test("resolves and checks the host of each redirect again, on the address that it connects to", async () => {
    await listen(async (_, seen) => {
      const names: string[] = [];
      using server = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch: (request) => {
          names.push(request.headers.get("host") ?? "");
          return Response.redirect("https://inner.example/", 307);
        },
      });
      const resolve: Resolve = async (name) => (name === "outer.example" ? ["127.0.0.1"] : ["169.254.169.254"]);
      const allows = readAllowed("outer.example");
      const fetched = await guardedFetch(`http://outer.example:${server.port}/`, options({ allows, resolve }));
      expect(fetched).toEqual({ kind: "forbidden", why: "its host has no public address" });
      expect(names).toEqual([`outer.example:${server.port}`]);
      expect(seen()).toBe(0);
    });
  });

  test("follows three redirects and rejects a fourth", async () => {
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => {
        const left = Number(new URL(request.url).pathname.slice(1));
        return left === 0 ? new Response("end") : new Response(null, { status: 302, headers: { location: `/${left - 1}` } });
      },
    });
    const allows = readAllowed("127.0.0.1");
    expect((await guardedFetch(`${server.url.href}3`, options({ allows }))).kind).toBe("answered");
    expect((await guardedFetch(`${server.url.href}4`, options({ allows }))).kind).toBe("unreachable");
  });

  test("stops a DNS lookup without a response at the deadline", async () => {
    const began = performance.now();
    const fetched = await guardedFetch(
      "https://slow.example/",
      options({ signal: AbortSignal.timeout(50), resolve: () => new Promise(() => {}) }),
    );
    expect(fetched.kind).toBe("unreachable");
    expect(performance.now() - began).toBeLessThan(2000);
  });

  test("ignores a proxy in the environment", async () => {
    await listen(async (port, seen) => {
      using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("straight") });
      const former = process.env.HTTP_PROXY;
      process.env.HTTP_PROXY = `http://127.0.0.1:${port}`;
      try {
        const fetched = await guardedFetch(server.url.href, options({ allows: readAllowed("127.0.0.1") }));
        expect(fetched.kind === "answered" && (await fetched.response.text())).toBe("straight");
        expect(seen()).toBe(0);
      } finally {
        if (former === undefined) delete process.env.HTTP_PROXY;
        else process.env.HTTP_PROXY = former;
      }
    });
  });

  test("connects to the next address when the first one does not answer", async () => {
    using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("second") });
    const resolve: Resolve = async () => ["127.0.0.2", "127.0.0.1"];
    const allows = readAllowed("two.example");
    const fetched = await guardedFetch(`http://two.example:${server.port}/`, options({ allows, resolve }));
    expect(fetched.kind === "answered" && (await fetched.response.text())).toBe("second");
  });
});
