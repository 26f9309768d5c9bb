// The way to the database (security.md 8): what leaves this machine is proved, or the operator has said that nobody listens.
import { afterAll, describe, expect, test } from "bun:test";
import { clientAddress, databaseFault } from "../../src/config/database-url.ts";
import { examine, readSettings } from "../../src/config/load.ts";
import { runHere } from "../cli/captured.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";

const faultOf = (url: string, more: Record<string, string> = {}): string | undefined => {
  const read = examine({ GENROUTER_STORE__URL: url, ...more });
  return read.faults[0];
};

describe("a database on another machine", () => {
  test.each([
    "postgres://genrouter:word@db.example.com/genrouter",
    "postgresql://genrouter:word@10.0.0.4:5432/genrouter",
    "postgres://genrouter:word@[fd00::4]/genrouter",
    "postgres://genrouter:word@db.example.com/genrouter?sslmode=disable",
    "postgres://genrouter:word@db.example.com/genrouter?sslmode=prefer",
    "postgres://genrouter:word@db.example.com/genrouter?sslmode=require&channel_binding=require",
    "postgres://genrouter:word@db.example.com/genrouter?sslmode=verify-ca",
    // A name that only looks like this machine's.
    "postgres://genrouter:word@127.0.0.1.example.com/genrouter",
    "postgres://genrouter:word@localhost.example.com/genrouter",
    // What the client takes from the query goes before what stands in front of it.
    "postgres://genrouter:word@localhost/genrouter?host=db.example.com",
    "postgres://genrouter:word@db.example.com/genrouter?sslmode=verify-full&ssl=false",
  ])("%s is refused before anything is sent, and its password not repeated", (url) => {
    const said = faultOf(url);
    expect(said).toStartWith("GENROUTER_STORE__URL: the connection to ");
    expect(said).toContain("?sslmode=verify-full");
    expect(said).not.toContain("word");
    expect(() => readSettings({ GENROUTER_STORE__URL: url })).toThrow("sslmode=verify-full");
    expect(faultOf(url, { GENROUTER_STORE__INSECURE: "true" })).toBeUndefined();
  });
});

test("a mode that there is not is refused with those there are, also where nobody else listens", () => {
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
])("%s is taken", (url) => {
  expect(faultOf(url)).toBeUndefined();
});

test("what is judged is the address that the client gets, however the names of its parameters are spelt", () => {
  const url = "postgres://genrouter:word@db.example.com/genrouter?ssl%6Dode=verify-full&pgbouncer=true";
  expect(databaseFault(url, false)).toBeUndefined();
  expect(new URL(clientAddress(url).url).searchParams.get("sslmode")).toBe("verify-full");
});

test("an address without a host is where the environment says", () => {
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
test("nothing is moved to a database that would be reached in clear", async () => {
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
