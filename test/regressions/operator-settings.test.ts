// Settings that a start refuses are refused by `config check` too, in the same words, and none of them leads callers nowhere.
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";

afterAll(dropDirs);

const STORE = { GENROUTER_STORE__URL: "postgres://nobody@127.0.0.1:1/none" };
const BUCKET = { GENROUTER_S3__ACCESS_KEY: "a", GENROUTER_S3__SECRET_KEY: "b", GENROUTER_FILES__STORE: "s3" };
const OPEN = { GENROUTER_OPERATOR__TOKEN: "0123456789abcdef0123456789abcdef" };

const REFUSED: [what: string, env: Record<string, string>, why: string][] = [
  ["A4: nodes without a bucket", STORE, "nodes that share a database keep result files in a bucket"],
  [
    "A4: nodes with backups of a file",
    { ...STORE, ...BUCKET, GENROUTER_S3__BUCKET: "results", GENROUTER_BACKUP__DIR: "/backups" },
    "GENROUTER_BACKUP__DIR is for a database in the data directory",
  ],
  [
    "A4: a bucket whose name is too short",
    { ...BUCKET, GENROUTER_S3__BUCKET: "x" },
    "GENROUTER_S3__BUCKET: a bucket's name has 2 to 255",
  ],
  [
    "A4: half of Stripe",
    { GENROUTER_STRIPE__SECRET_KEY: `sk_test_${"0".repeat(24)}` },
    "GENROUTER_STRIPE__WEBHOOK_SECRET: it is missing",
  ],
  ["A4: a catalogue that is not there", { GENROUTER_CATALOGUE__DIR: "/no/dir" }, "/no/dir"],
  [
    "A4: other machines without the operator's token",
    { GENROUTER_SERVER__HOST: "0.0.0.0", GENROUTER_SERVER__PUBLIC_URL: "https://host.example" },
    "0.0.0.0 can be reached from other machines; first set operator.token",
  ],
  [
    "A4: a database whose certificate is not proved",
    { GENROUTER_STORE__URL: "postgres://g@db.example.com/g" },
    "sslmode=verify-full",
  ],
  ...["0.0.0.0", "::", "[::]", "0", "::0", "0:0:0:0:0:0:0:0", "0x0", "::ffff:0.0.0.0"].map(
    (host): [string, Record<string, string>, string] => [
      `A11, D4: links to ${host}`,
      { ...OPEN, GENROUTER_SERVER__HOST: host },
      `GENROUTER_SERVER__PUBLIC_URL: ${host} is no address that a link can lead to`,
    ],
  ),
  ...["http://0.0.0.0:8080", "https://[::]", "https://0/"].map((url): [string, Record<string, string>, string] => [
    `D4: links to ${url}`,
    { GENROUTER_SERVER__PUBLIC_URL: url },
    `GENROUTER_SERVER__PUBLIC_URL: ${url} is no address that a link can lead to`,
  ]),
  ...["999.1.1.1", "a b", "host/path"].map((host): [string, Record<string, string>, string] => [
    `A4: listening at ${host}`,
    { ...OPEN, GENROUTER_SERVER__HOST: host },
    `cannot listen at ${host}`,
  ]),
  ...["GENROUTER_SERVER__PUBLIC_URL", "GENROUTER_S3__ENDPOINT", "GENROUTER_PROVIDERS__FAL__BASE_URL"].flatMap((setting) =>
    ["http://localhost:99999", "http://[::1"].map((url): [string, Record<string, string>, string] => [
      `A4: ${setting} that cannot be parsed, ${url}`,
      { [setting]: url },
      `${setting}: expected an address`,
    ]),
  ),
  [
    "A12, D5: a path before the pages",
    { GENROUTER_SERVER__PUBLIC_URL: "https://host.example/gen" },
    "GENROUTER_SERVER__PUBLIC_URL: https://host.example/gen has a path",
  ],
];
test.each(REFUSED)("%s", async (_, env, why) => {
  const dir = join(freshDir(), "none");
  const checked = await runHere(["config", "check", "--data", dir], env);
  expect(checked).toMatchObject({ exit: 2, err: "" });
  const started = await runHere(["serve", "--port", "0", "--data", dir], { ...env, FAL_KEY: "key" });
  expect(started).toMatchObject({ exit: 2, out: "" });
  for (const said of [checked.out, started.err]) expect(said).toContain(why);
});

test("A11, D4: every address with a public one, and A12, D5: a slash at its end, are good settings", async () => {
  const env = { ...OPEN, GENROUTER_SERVER__HOST: "0.0.0.0", GENROUTER_SERVER__PUBLIC_URL: "https://host.example/" };
  expect(await runHere(["config", "check"], env)).toMatchObject({ exit: 0 });
});
