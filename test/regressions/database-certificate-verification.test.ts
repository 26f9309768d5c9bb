// Remote database connections must verify the certificate of the server.
//
// store.insecure turns this rule off.
import { afterAll, describe, expect, test } from "bun:test";
import { clientAddress, databaseFault } from "../../src/config/database-url.ts";
import { checkSettings, readSettings } from "../../src/config/load.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";

const faultOf = (url: string, more: Record<string, string> = {}): string | undefined => {
  const read = checkSettings({ GENROUTER_STORE__URL: url, ...more });
  return read.faults[0];
};

describe("a remote database without certificate verification", () => {
  test.each([
    "postgres://genrouter:word@db.example.com/genrouter",
    "postgresql://genrouter:word@10.0.0.4:5432/genrouter",
    "postgres://genrouter:word@[fd00::4]/genrouter",
    "postgres://genrouter:word@db.example.com/genrouter?sslmode=disable",
    "postgres://genrouter:word@db.example.com/genrouter?sslmode=prefer",
    "postgres://genrouter:word@db.example.com/genrouter?sslmode=require&channel_binding=require",
    "postgres://genrouter:word@db.example.com/genrouter?sslmode=verify-ca",
    // Names that only look like this machine.
    "postgres://genrouter:word@127.0.0.1.example.com/genrouter",
    "postgres://genrouter:word@localhost.example.com/genrouter",
    // The client prefers the query parameter to the host of the URL.
    "postgres://genrouter:word@localhost/genrouter?host=db.example.com",
    "postgres://genrouter:word@db.example.com/genrouter?sslmode=verify-full&ssl=false",
  ])("%s is rejected without its password in the message, and accepted with store.insecure", (url) => {
    const said = faultOf(url);
    expect(said).toStartWith("GENROUTER_STORE__URL: the connection to ");
    expect(said).toContain("?sslmode=verify-full");
    expect(said).not.toContain("word");
    expect(() => readSettings({ GENROUTER_STORE__URL: url })).toThrow("sslmode=verify-full");
    expect(faultOf(url, { GENROUTER_STORE__INSECURE: "true" })).toBeUndefined();
  });
});

test("rejects an unknown sslmode with the list of modes, also with store.insecure", () => {
  const url = "postgres://genrouter:word@db.example.com/genrouter?sslmode=whatever";
  for (const env of [{}, { GENROUTER_STORE__INSECURE: "true" }])
    expect(faultOf(url, env)).toStartWith(
      "GENROUTER_STORE__URL: sslmode may be disable, allow, prefer, require, verify-ca, verify-full",
    );
});

test.each([
  "postgres://genrouter:word@db.example.com/genrouter?sslmode=verify-full",
  "postgres://genrouter:word@db.example.com/genrouter?sslmode=verify-full&sslrootcert=/etc/ca.pem",
  "postgres://genrouter:word@127.0.0.1:5432/genrouter",
  "postgres://genrouter:word@localhost/genrouter?sslmode=disable",
  "postgres://genrouter:word@[::1]:6432/genrouter",
  "postgres://genrouter:word@db.example.com/genrouter?sslmode=VERIFY-FULL",
  "postgres://genrouter@%2Fvar%2Frun%2Fpostgresql/genrouter",
])("accepts %s", (url) => {
  expect(faultOf(url)).toBeUndefined();
});

test("checks the URL that the client receives, with percent-encoded parameter names decoded", () => {
  const url = "postgres://genrouter:word@db.example.com/genrouter?ssl%6Dode=verify-full&pgbouncer=true";
  expect(databaseFault(url, false)).toBeUndefined();
  expect(new URL(clientAddress(url).url).searchParams.get("sslmode")).toBe("verify-full");
});

test("takes the host of a URL without a host from PGHOST", () => {
  const before = process.env.PGHOST;
  try {
    process.env.PGHOST = "db.example.com";
    expect(faultOf("postgres:///genrouter")).toContain("the connection to db.example.com");
    delete process.env.PGHOST;
    expect(faultOf("postgres:///genrouter")).toBeUndefined();
  } finally {
    if (before !== undefined) process.env.PGHOST = before;
  }
});

afterAll(dropDirs);
test("migrate-store rejects a remote database without certificate verification", async () => {
  const { exit, err } = await runHere([
    "migrate-store",
    "--data",
    freshDir(),
    "--to",
    "postgres://genrouter:word@db.example.com/genrouter",
  ]);
  expect([exit, err]).toEqual([2, expect.stringContaining("?sslmode=verify-full")]);
  expect(err).not.toContain("word");
});
