// TLS to PostgreSQL: the store opens only a server with a verified certificate.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { chownSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { AUTHORITY, CERTIFICATE, KEY } from "../media/certificates.ts";
import { SELF_SIGNED } from "../providers/certificate.ts";
import { dropScratch } from "../scratch.ts";
import { AS } from "./binaries.ts";
import { onPostgres } from "./databases.ts";
import { openServer, type Server } from "./server.ts";

const dir = mkdtempSync(join(tmpdir(), "genrouter-tls-"));
afterAll(() => dropScratch(dir));
/** Writes a file that only the user of PostgreSQL may read, as PostgreSQL requires of its key. */
const put = (name: string, text: string): string => {
  const path = join(dir, name);
  writeFileSync(path, text, { mode: 0o600 });
  if (AS.uid !== undefined && AS.gid !== undefined) for (const each of [dir, path]) chownSync(each, AS.uid, AS.gid);
  return path;
};

/** A server that rejects unencrypted connections. */
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

  test("opens a server whose certificate is signed by the configured authority for the called name", async () => {
    expect(await opened(proved, "localhost", verified(SELF_SIGNED.cert))).toBe("opened");
    expect(await opened(proved, "127.0.0.1", verified(SELF_SIGNED.cert))).toBe("opened");
  }, 60_000);

  test.each([
    ["of an authority that is not configured", "?sslmode=verify-full", () => proved],
    ["of another authority than the configured one", verified(AUTHORITY), () => proved],
    ["for another name, signed by the configured authority", verified(AUTHORITY), () => other],
  ])(
    "rejects a server with a certificate %s, and reports why",
    async (_, more, server) => {
      const said = await opened(server(), "localhost", more);
      expect(said).toMatch(
        /^the database of GENROUTER_STORE__URL at localhost:\d+ cannot be opened: .*(certificate|verif|hostname|altname|self.signed)/i,
      );
      expect(said).not.toContain("hidden");
    },
    60_000,
  );

  test("reports that a server rejects unencrypted connections", async () => {
    expect(await opened(proved, "localhost", "?sslmode=disable")).toMatch(/no encryption|pg_hba/);
  }, 60_000);
});
