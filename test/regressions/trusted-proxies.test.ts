// Reverse proxies: only trusted proxies are believed, and misconfigured ones are logged.
import { describe, expect, test } from "bun:test";
import { signInFindings } from "../../src/cli/doctor/sign-in.ts";
import { readSettings } from "../../src/config/load.ts";
import { createProxies, unnamedProxy } from "../../src/http/proxies.ts";
import type { EventFields } from "../../src/logging/events.ts";

describe("X-Forwarded-For", () => {
  const PUBLIC = { public_url: "https://genrouter.example.com", trusted_proxies: "" };
  const reported = (server: typeof PUBLIC, asked: readonly [peer: string, headers: Record<string, string>][]) => {
    const lines: EventFields[] = [];
    const proxies = createProxies(server, (_event, fields = {}) => void lines.push(fields));
    const callers = asked.map(([peer, headers]) =>
      proxies.callerOf(new Request("http://127.0.0.1:8080/console/api/session", { headers }), peer),
    );
    return { callers, lines };
  };

  test.each([PUBLIC, { ...PUBLIC, public_url: "" }])(
    "is ignored from an untrusted proxy on this machine, and one warning is logged (%j)",
    (server) => {
      const { callers, lines } = reported(server, [
        ["127.0.0.1", { "x-forwarded-for": "1.2.3.4" }],
        ["127.0.0.1", { "x-forwarded-for": "1.2.3.5" }],
      ]);
      expect(callers).toEqual(["127.0.0.1", "127.0.0.1"]);
      expect(lines).toEqual([{ address: "127.0.0.1", reason: expect.stringContaining("name it in server.trusted_proxies") }]);
    },
  );

  test("is expected from a trusted proxy, and a warning is logged once if it is missing", () => {
    const named = { ...PUBLIC, trusted_proxies: "127.0.0.1" };
    const silent = reported(named, [
      ["127.0.0.1", { host: "genrouter.example.com" }],
      ["127.0.0.1", { host: "genrouter.example.com" }],
      ["127.0.0.1", { host: "127.0.0.1:8080" }],
    ]);
    expect(silent.lines).toEqual([{ address: "127.0.0.1", reason: expect.stringContaining("have it set X-Forwarded-For") }]);
    const good = reported(named, [["127.0.0.1", { host: "genrouter.example.com", "x-forwarded-for": "9.9.9.9, 203.0.113.7" }]]);
    expect(good).toEqual({ callers: ["203.0.113.7"], lines: [] });
  });

  test.each([
    ["203.0.113.9:51324", "203.0.113.9"],
    ["[2001:db8::1]:443", "2001:db8:0:0::/64"],
    ["[2001:db8::1]", "2001:db8:0:0::/64"],
    ["1.2.3.4, 203.0.113.9:80", "203.0.113.9"],
    ["203.0.113.9:, 127.0.0.1", "127.0.0.1"],
    ["unknown", "127.0.0.1"],
  ])("%j from a trusted proxy yields the client address %s", (entry, caller) => {
    const { callers } = reported({ ...PUBLIC, trusted_proxies: "127.0.0.1" }, [["127.0.0.1", { "x-forwarded-for": entry }]]);
    expect(callers).toEqual([caller]);
  });

  test.each([
    ["", "", false],
    ["http://127.0.0.1:8080", "", false],
    ["http://localhost:8080", "", false],
    ["http://[::1]:8080", "", false],
    ["https://genrouter.example.com", "", true],
    ["https://genrouter.example.com", "127.0.0.1", false],
    ["http://192.168.1.4:8080", "", true],
  ])("with public_url %j and trusted_proxies %j: doctor warns: %j", (public_url, trusted_proxies, isReported) => {
    expect(unnamedProxy({ public_url, trusted_proxies }) !== null).toBe(isReported);
    const settings = readSettings({
      ...(public_url === "" ? {} : { GENROUTER_SERVER__PUBLIC_URL: public_url }),
      GENROUTER_SERVER__TRUSTED_PROXIES: trusted_proxies,
      GENROUTER_PROVIDERS__FAL__KEY: "k",
    });
    expect(signInFindings(settings).map(({ level }) => level)).toEqual(isReported ? ["warning"] : []);
    expect(signInFindings({ ...settings, console: { ...settings.console, enabled: false } })).toEqual([]);
  });
});
