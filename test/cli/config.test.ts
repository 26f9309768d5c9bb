// Settings that cannot be used are told by name in one line, and credentials are never repeated.
import { expect, test } from "bun:test";
import { BadSetting, WELL_KNOWN_KEYS } from "../../src/config.ts";
import { readDialects } from "../../src/providers/dialect/load.ts";
import { spokenProviders } from "../../src/providers/providers.ts";
import { readSettings } from "../../src/settings.ts";

const lineOf = (env: Record<string, string>): string => {
  try {
    readSettings(env);
  } catch (fault) {
    if (fault instanceof BadSetting) return fault.message;
    throw fault;
  }
  throw new Error("nothing was refused");
};

test.each<[Record<string, string>, RegExp]>([
  [{ GENROUTER_SERVER__PORT: "abc" }, /^GENROUTER_SERVER__PORT: expected integer, not "abc" \(port to listen on/],
  [{ GENROUTER_SERVER__PORT: "70000" }, /^GENROUTER_SERVER__PORT: .*65535, not 70000/],
  [{ GENROUTER_LIMITS__BURSTS: "5" }, /^GENROUTER_LIMITS__BURSTS is not a setting; known here: BURST_PER_S, IN_PROGRESS/],
  [{ GENROUTER_LIMITS__BURST_PER_S: "0" }, /^GENROUTER_LIMITS__BURST_PER_S: .*, not 0/],
  [{ GENROUTER_NONSENSE__X: "1" }, /^GENROUTER_NONSENSE__X is not a setting; settings are/],
  [{ GENROUTER_PORT: "1" }, /^GENROUTER_PORT is not a setting/],
  [{ GENROUTER_SIMULATOR__SPEED: "0" }, /^GENROUTER_SIMULATOR__SPEED: /],
  [{ GENROUTER_PROVIDERS__FAL__BASE_URL: "ftp://canary" }, /^GENROUTER_PROVIDERS__FAL__BASE_URL: /],
  [{ GENROUTER_PROVIDERS__FAL__KEYS: "canary" }, /^GENROUTER_PROVIDERS__FAL__KEYS is not a setting; known here: BASE_URL, KEY/],
  [{ GENROUTER_LOG__LEVEL: "loud" }, /^GENROUTER_LOG__LEVEL: expected one of debug, info, warn, error, silent, not "loud"/],
  [{ GENROUTER_PROVIDERS__FAL__KEY: "" }, /^GENROUTER_PROVIDERS__FAL__KEY: /],
])("%p", (env, line) => {
  const told = lineOf(env);
  expect(told).toMatch(line);
  expect(told).not.toContain("\n");
  expect(told).not.toContain("canary");
});

test("variables of clients and of other programs are no settings", () => {
  const env = { GENROUTER_URL: "http://x", GENROUTER_API_KEY: "k", PATH: "/bin", FAL_KEY: "a" };
  expect(readSettings(env).providers).toEqual({ fal: { key: "a" } });
  expect(readSettings({ ...env, GENROUTER_PROVIDERS__FAL__KEY: "b" }).providers).toEqual({ fal: { key: "b" } });
});

test("every account of a built-in provider has a name under which its key is commonly kept", () => {
  const accounts = new Set([...spokenProviders(readDialects(null)).values()].map(({ account }) => account));
  expect(Object.keys(WELL_KNOWN_KEYS).sort()).toEqual([...accounts].sort());
});

test("a provider's id is written with underscores in a variable's name", () => {
  const env = { GENROUTER_PROVIDERS__TOGETHER_VIDEO__BASE_URL: "http://x" };
  expect(readSettings(env).providers).toEqual({ "together-video": { base_url: "http://x" } });
});
