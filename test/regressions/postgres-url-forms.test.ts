// PostgreSQL URLs as vendors print them are accepted, or rejected with what to encode or remove.
import { expect, test } from "bun:test";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { connect } from "../../src/store/postgres/connections.ts";
import { runHere } from "../cli/captured.ts";
import { freshDatabase, onPostgres } from "../postgres/databases.ts";

const TLS = "sslmode=verify-full";
const REFUSED: [what: string, url: string, why: RegExp][] = [
  ['a raw "#" in the password', "postgres://g:se#cret@db.example.com/g", /raw "#"; write it as %23/],
  ['a raw "#" after digits, which look like a port', "postgres://g:12#cret@db.example.com/g", /raw "#"; write it as %23/],
  ['a raw "/"', "postgres://g:se/cret@db.example.com/g", /raw "\/"; write it as %2F/],
  ['a raw "/" after digits', "postgres://g:12/cret@db.example.com/g", /raw "\/"; write it as %2F/],
  ['a raw "?"', "postgres://g:se?cret@db.example.com/g", /raw "\?"; write it as %3F/],
  ['a raw "?" after digits', "postgres://g:12?cret@db.example.com/g", /raw "\?".*%3F/],
  ['a raw "?" that starts a parameter', "postgres://g:12?cret=1@db.example.com/g", /raw "\?".*%3F/],
  ['a raw "@" and "#"', "postgres://g:se@cr#et@db.example.com/g", /raw "#"; write it as %23.*"@" as %40/],
  ['a raw "%"', "postgres://g:se%cret@db.example.com/g", /"%" itself as %25/],
  ["two hosts", "postgres://g:secret@db1.example.com,db2.example.com/g", /several hosts; use one/],
  ["two hosts with ports", "postgres://g:secret@db1.example.com:5432,db2.example.com:5432/g", /several hosts; use one/],
  ["a schema other than public", `postgres://g:secret@db.example.com/g?schema=app&${TLS}`, /drop schema.*search_path/],
  [
    "the parameter options",
    `postgres://g:secret@db.example.com/g?options=-c%20x&${TLS}`,
    /"options".*remove it and set.*ALTER ROLE/,
  ],
  ["a client certificate", `postgres://g:secret@db.example.com/g?sslcert=x&${TLS}`, /"sslcert".*remove it/],
  [
    "an sslmode of another client library",
    "postgres://g:secret@db.example.com/g?sslmode=no-verify",
    /sslmode may be .*verify-full/,
  ],
  [
    "a URL that only accepts a standby",
    `postgres://g:secret@db.example.com/g?target_session_attrs=standby&${TLS}`,
    /target_session_attrs/,
  ],
  ["an unknown parameter", `postgres://g:secret@db.example.com/g?sslmodel=x&${TLS}`, /"sslmodel".*remove it/],
];
test.each(REFUSED)("rejects %s with an instruction that does not repeat any part of the password", async (_, url, why) => {
  const { exit, out } = await runHere(["config", "check"], { GENROUTER_STORE__URL: url });
  expect([exit as number, out]).toEqual([2, expect.stringMatching(/GENROUTER_STORE__URL: /)]);
  const [line] = out.split("\n").filter((each) => each.includes("GENROUTER_STORE__URL: "));
  expect(line).toMatch(why);
  expect(line).not.toMatch(/cret|Invalid URL/);
  const moved = await runHere(["migrate-store", "--to", url]);
  expect([moved.exit as number, moved.err]).toEqual([2, expect.stringMatching(why)]);
});

const VENDORS: [vendor: string, query: string][] = [
  ["Prisma", "schema=public&connection_limit=5&pool_timeout=10"],
  ["Supabase", "pgbouncer=true&connection_limit=1&supa=base-pooler.x&uselibpqcompat=true"],
  ["Neon", "channel_binding=require&connect_timeout=10"],
  ["libpq", "application_name=genrouter&target_session_attrs=read-write&keepalives=1&gssencmode=disable"],
];
onPostgres("PostgreSQL URLs of vendors", () => {
  test("opens a database with vendor parameters and an encoded password, without prepared statements if pgbouncer=true", async () => {
    const database = await freshDatabase();
    const { host, pathname, username } = new URL(database.url);
    for (const [vendor, query] of VENDORS) {
      const url = `postgres://${username}:p%23%40%2Fw@${host}${pathname}?${query}`;
      const { out } = await runHere(["config", "check"], { GENROUTER_STORE__URL: url });
      expect([vendor, out]).toEqual([vendor, expect.not.stringContaining("GENROUTER_STORE__URL: ")]);
      const store = await openPostgresStore({ url, prepare: true, mode: "test" });
      expect([vendor, await store.operators()]).toEqual([vendor, 0]);
      await store.close();
    }
    const prepared = async (query: string) => {
      const line = await connect({ url: `${database.url}${query}`, prepare: true });
      await line.send("SELECT ?1::int", 1);
      const { rows } = await line.send<{ count: number }>("SELECT count(*) AS count FROM pg_prepared_statements WHERE ?1 = 1", 1);
      line.close();
      return (rows[0]?.count ?? 0) > 0;
    };
    // A pooler that shares connections between clients does not support prepared statements.
    expect([await prepared(""), await prepared("?pgbouncer=true")]).toEqual([true, false]);
    await database.drop();
  });
});
