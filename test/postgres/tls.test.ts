// TLS to PostgreSQL (operator.md C, security.md 8): a server that proves who it is gets the rows, and any other gets nothing.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { AUTHORITY, CERTIFICATE, KEY } from "../media/certificates.ts";
import { SELF_SIGNED } from "../providers/certificate.ts";
import { AS } from "./binaries.ts";
import { onPostgres } from "./databases.ts";
import { openServer, type Server } from "./server.ts";

const dir = mkdtempSync(join(tmpdir(), "genrouter-tls-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
/** A file that PostgreSQL's user alone may read, as it wants its key. */
const put = (name: string, text: string): string => {
  const path = join(dir, name);
  writeFileSync(path, text, { mode: 0o600 });
  if (AS.uid !== undefined && AS.gid !== undefined) for (const each of [dir, path]) chownSync(each, AS.uid, AS.gid);
  return path;
};

/** A server that takes nobody in clear. */
const secured = (name: string, { cert, key }: { cert: string; key: string }): Promise<Server> =>
  openServer({
    ssl: "on",
    ssl_cert_file: put(`${name}.crt`, cert),
    ssl_key_file: put(`${name}.key`, key),
    hba_file: put(`${name}.hba`, "hostssl all all 127.0.0.1/32 trust\n"),
  });

onPostgres("TLS to the server", () => {
  let proved: Server;
  let other: Server;
  beforeAll(async () => {
    proved = await secured("proved", SELF_SIGNED);
    other = await secured("other", { cert: CERTIFICATE, key: KEY });
  }, 120_000);
  afterAll(async () => {
    await proved.stop();
    await other.stop();
  });

  const opened = async (server: Server, host: string, more: string): Promise<string> => {
    const url = `postgres://genrouter:hidden@${host}:${server.port}/postgres${more}`;
    try {
      const store = await openPostgresStore({ url, prepare: true, mode: "test" });
      await store.close();
      return "opened";
    } catch (fault) {
      return (fault as Error).message;
    }
  };
  const verified = (authority: string) => `?sslmode=verify-full&sslrootcert=${put(`${Bun.hash(authority)}.pem`, authority)}`;

  test("one whose certificate the operator's authority vouches for, for the name that is called, is opened", async () => {
    expect(await opened(proved, "localhost", verified(SELF_SIGNED.cert))).toBe("opened");
    expect(await opened(proved, "127.0.0.1", verified(SELF_SIGNED.cert))).toBe("opened");
  }, 60_000);

  test.each([
    ["of an authority that nobody named", "?sslmode=verify-full", () => proved],
    ["of another authority than the one that was named", verified(AUTHORITY), () => proved],
    ["of another name, by the authority that was named", verified(AUTHORITY), () => other],
  ])(
    "one with a certificate %s is not, and says why",
    async (_, more, server) => {
      const said = await opened(server(), "localhost", more);
      expect(said).toMatch(
        /^the database of GENROUTER_STORE__URL at localhost:\d+ cannot be opened: .*(certificate|verif|hostname|altname|self.signed)/i,
      );
      expect(said).not.toContain("hidden");
    },
    60_000,
  );

  test("one that takes nobody in clear says so", async () => {
    expect(await opened(proved, "localhost", "?sslmode=disable")).toMatch(/no encryption|pg_hba/);
  }, 60_000);
});
