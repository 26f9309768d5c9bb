// Invalid settings: each is reported by name in one line, and no message contains a credential.
import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readSettings } from "../../src/config/load.ts";
import { BadSetting } from "../../src/config/schema.ts";
import { WELL_KNOWN_KEYS } from "../../src/config/well-known-variables.ts";
import { readDialects } from "../../src/providers/dialect/load.ts";
import { knownProviders } from "../../src/providers/providers.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

afterAll(dropDirs);

const lineOf = (env: Record<string, string>): string => {
  try {
    readSettings(env);
  } catch (fault) {
    if (fault instanceof BadSetting) return fault.message;
    throw fault;
  }
  throw new Error("no setting was rejected");
};

test.each<[Record<string, string>, RegExp]>([
  [
    { GENROUTER_SERVER__PORT: "abc" },
    /^GENROUTER_SERVER__PORT: expected a whole number from 0 to 65535, not "abc" \(port to listen on/,
  ],
  [{ GENROUTER_SERVER__PORT: "70000" }, /^GENROUTER_SERVER__PORT: expected a whole number from 0 to 65535, not 70000/],
  [{ GENROUTER_LIMITS__BURSTS: "5" }, /^GENROUTER_LIMITS__BURSTS is not a setting; known here: .*BURST_PER_S, IN_PROGRESS/],
  [
    { GENROUTER_LIMITS__BURST_PER_S: "0" },
    /^GENROUTER_LIMITS__BURST_PER_S: expected a whole number from 1 to 9007199254740991, not 0/,
  ],
  [{ GENROUTER_NONSENSE__X: "1" }, /^GENROUTER_NONSENSE__X is not a setting; settings are/],
  [{ GENROUTER_PORT: "1" }, /^GENROUTER_PORT is not a setting/],
  [
    { GENROUTER_SIMULATOR__SPEED: "0" },
    /^GENROUTER_SIMULATOR__SPEED: expected a number greater than 0 and at most 100000, not 0/,
  ],
  [{ GENROUTER_PROVIDERS__FAL__BASE_URL: "ftp://canary" }, /^GENROUTER_PROVIDERS__FAL__BASE_URL: /],
  [{ GENROUTER_PROVIDERS__FAL__KEYS: "canary" }, /^GENROUTER_PROVIDERS__FAL__KEYS is not a setting; known here: BASE_URL, KEY/],
  [{ GENROUTER_LOG__LEVEL: "loud" }, /^GENROUTER_LOG__LEVEL: expected one of debug, info, warn, error, silent, not "loud"/],
  [{ GENROUTER_PROVIDERS__FAL__KEY: "" }, /^GENROUTER_PROVIDERS__FAL__KEY: must not be empty \(API key/],
  [{ GENROUTER_SERVER__PORT: "80.9" }, /^GENROUTER_SERVER__PORT: expected a whole number from 0 to 65535, not "80\.9"/],
  [{ GENROUTER_SERVER__PORT: "0x50" }, /not "0x50"/],
  [{ GENROUTER_SERVER__PORT: "true" }, /not "true"/],
  [{ GENROUTER_LIMITS__MAX_RUNNING: "99999999999999999999" }, /not "99999999999999999999"/],
  [
    { GENROUTER_SIMULATOR__SPEED: "1e3" },
    /^GENROUTER_SIMULATOR__SPEED: expected a number greater than 0 and at most 100000, not "1e3"/,
  ],
  [{ GENROUTER_LOG__PROMPTS: "1" }, /^GENROUTER_LOG__PROMPTS: expected true or false, not "1"/],
  [{ GENROUTER_BACKUP__AT: "3:30" }, /^GENROUTER_BACKUP__AT: expected a time of day as 03:30, not "3:30"/],
  [{ GENROUTER_OPERATOR__TOKEN: "canary" }, /^GENROUTER_OPERATOR__TOKEN: expected 24 to 200 characters of printable ASCII/],
  [{ GENROUTER_PROVIDERS__FAL__BASE_URL: "canary" }, /expected an address that begins with http:\/\/ or https:\/\/ \(/],
  [{ GENROUTER_SERVER__PUBLIC_URL: "gen.example.com" }, /expected an address that begins with http:\/\/ or https:\/\/, without/],
  [{ GENROUTER_SERVER__PUBLIC_URL: "https://gen.example.com/a/?canary" }, /, not "https:\/\/gen\.example\.com\/a\/\?\(hidden\)"/],
  [{ GENROUTER_SERVER__PUBLIC_URL: "https://gen.example.com#x" }, /fragment \(#\)/],
  [{ GENROUTER_SERVER__PUBLIC_URL: "https://me:canary@gen.example.com" }, /without user.*, not "https:\/\/\(hidden\)@gen/],
  [{ GENROUTER_S3__ENDPOINT: "https://{bucket}.s3.example.com?x" }, /^GENROUTER_S3__ENDPOINT: expected an address/],
  [{ GENROUTER_S3__ENDPOINT: "https://me@s3.example.com" }, /^GENROUTER_S3__ENDPOINT: expected an address/],
])("readSettings rejects %p with one line that names the setting", (env, line) => {
  const reported = lineOf(env);
  expect(reported).toMatch(line);
  expect(reported).not.toContain("\n");
  expect(reported).not.toContain("canary");
});

test("readSettings converts exact numbers and booleans, and keeps addresses unchanged", () => {
  const env = {
    GENROUTER_SERVER__PORT: "0",
    GENROUTER_SIMULATOR__SPEED: "0.25",
    GENROUTER_LOG__PROMPTS: "true",
    GENROUTER_DATA__NETWORK_DISK: "false",
    GENROUTER_SERVER__PUBLIC_URL: "https://example.com:8443/gen/@x/",
    GENROUTER_S3__ENDPOINT: "https://{bucket}.s3.example.com",
  };
  expect(readSettings(env)).toMatchObject({
    server: { port: 0, public_url: "https://example.com:8443/gen/@x/" },
    simulator: { speed: 0.25 },
    log: { prompts: true },
    data: { network_disk: false },
    s3: { endpoint: "https://{bucket}.s3.example.com" },
  });
});

test("readSettings ignores an empty variable unless the setting is text, where it is the empty string", () => {
  const file = { path: "/etc/x.toml", text: '[server]\nport = 9\npublic_url = "http://x"\n' };
  const env = {
    GENROUTER_SERVER__PORT: "",
    GENROUTER_LIMITS__MAX_RUNNING_FILE: "",
    GENROUTER_LOG__PROMPTS: "",
    GENROUTER_LOG__LEVEL: "",
    GENROUTER_SERVER__PUBLIC_URL: "",
  };
  const { server, log } = readSettings(env, {}, file);
  expect({ server, log }).toMatchObject({ server: { port: 9, public_url: "" }, log: { prompts: false, level: "info" } });
  expect(lineOf({ GENROUTER_DATA__DIR: "" })).toMatch(/^GENROUTER_DATA__DIR: /);
});

test("readSettings ignores the variables of clients and other programs, and reads well-known provider keys", () => {
  const env = { GENROUTER_URL: "http://x", GENROUTER_API_KEY: "k", PATH: "/bin", FAL_KEY: "a" };
  expect(readSettings(env).providers).toEqual({ fal: { key: "a" } });
  expect(readSettings({ ...env, GENROUTER_PROVIDERS__FAL__KEY: "b" }).providers).toEqual({ fal: { key: "b" } });
});

test("WELL_KNOWN_KEYS has a variable for every account of a built-in provider", () => {
  const accounts = new Set([...knownProviders(readDialects(null)).values()].map(({ account }) => account));
  expect(Object.keys(WELL_KNOWN_KEYS).sort()).toEqual([...accounts].sort());
});

test("readSettings maps underscores in a variable name to hyphens in the provider's id", () => {
  const env = { GENROUTER_PROVIDERS__TOGETHER_VIDEO__BASE_URL: "http://x" };
  expect(readSettings(env).providers).toEqual({ "together-video": { base_url: "http://x" } });
});

test("serve reports an unknown provider with the file or variable that names it", async () => {
  const config = join(freshDir(), "genrouter.toml");
  writeFileSync(config, '[providers.nope]\nkey = "canary"\n');
  const words = ["serve", "--simulate", "--port", "0", "--data", join(freshDir(), "none")];
  const ofFile = await runHere([...words, "--config", config]);
  expect(ofFile.err).toContain(`error: providers.nope.key in ${config}: there is no such provider`);
  const ofVariable = await runHere(words, { GENROUTER_PROVIDERS__NOPE__KEY: "canary" });
  expect(ofVariable.err).toContain("error: GENROUTER_PROVIDERS__NOPE: there is no such provider");
});

test("config check and serve reject an invalid media.allow with its source and the allowed forms", async () => {
  const config = join(freshDir(), "genrouter.toml");
  writeFileSync(config, '[media]\nallow = "bad host"\n');
  const rows: [words: string[], env: Record<string, string>, from: string][] = [
    [[], { GENROUTER_MEDIA__ALLOW: "bad host" }, "GENROUTER_MEDIA__ALLOW"],
    [["--config", config], {}, `media.allow in ${config}`],
  ];
  for (const [words, env, from] of rows) {
    const line = `${from}: "bad host" is not a valid host; expected host or host:port, separated by commas`;
    const checked = await runHere(["config", "check", ...words], env);
    expect([checked.exit as number, checked.out]).toEqual([2, expect.stringContaining(line)]);
    const served = await runHere(["serve", "--simulate", "--port", "0", "--data", join(freshDir(), "none"), ...words], env);
    expect([served.exit as number, served.err]).toEqual([2, expect.stringContaining(`error: ${line}`)]);
  }
});

test("serve rejects an incomplete Stripe configuration and a live key with the simulator, and config check reports invalid keys", async () => {
  const words = ["serve", "--simulate", "--port", "0", "--data", join(freshDir(), "none")];
  const key = { GENROUTER_STRIPE__SECRET_KEY: "sk_live_abcdefgh12345678" };
  const half = await runHere(words, key);
  expect(half.err).toContain("error: GENROUTER_STRIPE__WEBHOOK_SECRET: is missing, so no payment could be credited");
  const live = await runHere(words, { ...key, GENROUTER_STRIPE__WEBHOOK_SECRET: "whsec_abcdefgh12345678" });
  expect(live.err).toContain("error: GENROUTER_STRIPE__SECRET_KEY: a live key would charge customers for simulated results");
  const checked = await runHere(["config", "check"], key);
  expect([checked.exit as number, checked.out]).toEqual([
    2,
    expect.stringContaining("GENROUTER_STRIPE__WEBHOOK_SECRET: is missing"),
  ]);
  const wrong = await runHere(["config", "check"], { GENROUTER_STRIPE__SECRET_KEY: "pk_live_abcdefgh12345678" });
  expect(wrong.out).toContain("expected a secret or restricted key of Stripe");
  expect(wrong.out + checked.out + live.err + half.err).not.toContain("abcdefgh12345678");
});

test.each([
  [{ GENROUTER_CREDITS__SELLER_ADDRESS: "1 Main St" }, "GENROUTER_CREDITS__SELLER_NAME: is missing"],
  [{ GENROUTER_CREDITS__SELLER_TAX_ID: "DE1" }, "GENROUTER_CREDITS__SELLER_NAME: is missing"],
  [{ GENROUTER_CREDITS__SELLER_NAME: "Ada Ltd" }, "GENROUTER_CREDITS__SELLER_ADDRESS: is missing"],
  [
    { GENROUTER_CREDITS__SELLER_NAME: "Ada Ltd", GENROUTER_CREDITS__SELLER_ADDRESS: " \n" },
    "GENROUTER_CREDITS__SELLER_ADDRESS: is missing",
  ],
  [{ GENROUTER_CREDITS__SELLER_NAME: "Ada\nLtd" }, "one line of at most 200 characters"],
  [{ GENROUTER_CREDITS__SELLER_NAME: "x".repeat(201) }, "one line of at most 200 characters"],
] as const)("a start with the seller %j is refused with the name of the setting", async (env, message) => {
  const words = ["serve", "--simulate", "--port", "0", "--data", join(freshDir(), "none")];
  const { exit, err } = await runHere(words, env);
  expect(exit).toBe(2);
  expect(err).toContain(message);
});
