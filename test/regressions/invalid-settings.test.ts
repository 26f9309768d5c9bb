// Invalid settings: `config check` rejects what `serve` rejects, with the same message.
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";

afterAll(dropDirs);

const STORE = { GENROUTER_STORE__URL: "postgres://unknown@127.0.0.1:1/none" };
const BUCKET = { GENROUTER_S3__ACCESS_KEY: "a", GENROUTER_S3__SECRET_KEY: "b", GENROUTER_FILES__STORE: "s3" };
const OPEN = { GENROUTER_OPERATOR__TOKEN: "0123456789abcdef0123456789abcdef" };

const REFUSED: [what: string, env: Record<string, string>, why: string][] = [
  ["a shared database without a bucket", STORE, "nodes that share a database keep result files in a bucket"],
  [
    "a shared database with backup.dir",
    { ...STORE, ...BUCKET, GENROUTER_S3__BUCKET: "results", GENROUTER_BACKUP__DIR: "/backups" },
    "GENROUTER_BACKUP__DIR is for a database in the data directory",
  ],
  [
    "a bucket name that is too short",
    { ...BUCKET, GENROUTER_S3__BUCKET: "x" },
    "GENROUTER_S3__BUCKET: a bucket's name has 2 to 255",
  ],
  [
    "a Stripe key without a webhook secret",
    { GENROUTER_STRIPE__SECRET_KEY: `sk_test_${"0".repeat(24)}` },
    "GENROUTER_STRIPE__WEBHOOK_SECRET: is missing",
  ],
  ["a missing catalogue directory", { GENROUTER_CATALOGUE__DIR: "/no/dir" }, "/no/dir"],
  [
    "a public host without an operator token",
    { GENROUTER_SERVER__HOST: "0.0.0.0", GENROUTER_SERVER__PUBLIC_URL: "https://host.example" },
    "0.0.0.0 can be reached from other machines; set operator.token first",
  ],
  [
    "a remote database without certificate verification",
    { GENROUTER_STORE__URL: "postgres://g@db.example.com/g" },
    "sslmode=verify-full",
  ],
  ...["0.0.0.0", "::", "[::]", "0", "::0", "0:0:0:0:0:0:0:0", "0x0", "::ffff:0.0.0.0"].map(
    (host): [string, Record<string, string>, string] => [
      `server.host ${host} without a public URL`,
      { ...OPEN, GENROUTER_SERVER__HOST: host },
      `GENROUTER_SERVER__PUBLIC_URL: ${host} is not an address for links`,
    ],
  ),
  ...["http://0.0.0.0:8080", "https://[::]", "https://0/"].map((url): [string, Record<string, string>, string] => [
    `server.public_url ${url}`,
    { GENROUTER_SERVER__PUBLIC_URL: url },
    `GENROUTER_SERVER__PUBLIC_URL: ${url} is not an address for links`,
  ]),
  ...["999.1.1.1", "a b", "host/path"].map((host): [string, Record<string, string>, string] => [
    `server.host ${host}`,
    { ...OPEN, GENROUTER_SERVER__HOST: host },
    `cannot listen at ${host}`,
  ]),
  ...["GENROUTER_SERVER__PUBLIC_URL", "GENROUTER_S3__ENDPOINT", "GENROUTER_PROVIDERS__FAL__BASE_URL"].flatMap((setting) =>
    ["http://localhost:99999", "http://[::1"].map((url): [string, Record<string, string>, string] => [
      `${setting} with the unparsable URL ${url}`,
      { [setting]: url },
      `${setting}: expected an address`,
    ]),
  ),
  [
    "a public URL with a path",
    { GENROUTER_SERVER__PUBLIC_URL: "https://host.example/gen" },
    "GENROUTER_SERVER__PUBLIC_URL: https://host.example/gen must not have a path",
  ],
];
test.each(REFUSED)("%s: config check and serve reject it with the same message", async (_, env, why) => {
  const dir = join(freshDir(), "none");
  const checked = await runHere(["config", "check", "--data", dir], env);
  expect(checked).toMatchObject({ exit: 2, err: "" });
  const started = await runHere(["serve", "--port", "0", "--data", dir], { ...env, FAL_KEY: "key" });
  expect(started).toMatchObject({ exit: 2, out: "" });
  for (const said of [checked.out, started.err]) expect(said).toContain(why);
});

test("config check accepts host 0.0.0.0 with a public URL that ends with a slash", async () => {
  const env = { ...OPEN, GENROUTER_SERVER__HOST: "0.0.0.0", GENROUTER_SERVER__PUBLIC_URL: "https://host.example/" };
  expect(await runHere(["config", "check"], env)).toMatchObject({ exit: 0 });
});
