// `genrouter keys`: make, list and revoke API keys; a key is shown once, when it is made.
import { type Command, Option } from "commander";
import { newReference } from "../../office/reference.ts";
import type { KeyRow } from "../../store/store.ts";
import type { KeyScope } from "../../terms.ts";
import { withOffice } from "../desk.ts";
import { type DirFlag, type JsonFlag, type Session, settingsOf, withDir, withExamples, withJson } from "../session.ts";
import { table } from "../terminal.ts";

type Flags = DirFlag & JsonFlag;

const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

const keyJson = (row: KeyRow) => ({
  id: row.id,
  account: row.accountId,
  scope: row.scope,
  name: row.name,
  start: row.start,
  created_at: time(row.createdAtMs),
  revoked_at: time(row.revokedAtMs),
});

const keyLines = (rows: readonly KeyRow[]): string[] =>
  table(
    ["ID", "ACCOUNT", "KEY", "SCOPE", "STATE", "CREATED", "NAME"],
    rows.map((row) => [
      row.id,
      row.accountId,
      `${row.start}…`,
      row.scope,
      row.revokedAtMs === null ? "active" : "revoked",
      new Date(row.createdAtMs).toISOString().slice(0, 16),
      row.name,
    ]),
  );

export const addKeys = (program: Command, session: Session): void => {
  const { terminal } = session;
  const keys = withExamples(
    program.command("keys").description("make, list and revoke API keys"),
    "keys create --account acc_01k…",
    "keys list",
  );

  const create = keys
    .command("create")
    .description("make a key; it is shown this once, the service keeps its hash only")
    .requiredOption("--account <id>", "the account it belongs to")
    .addOption(
      new Option("--scope <scope>", "generate: everything; read: look only").choices(["generate", "read"]).default("generate"),
    )
    .option("--name <name>", "what to call it", "")
    .action(async (flags: Flags & { account: string; scope: KeyScope; name: string }) => {
      const made = await withOffice(settingsOf(session, flags), (office) =>
        office.createKey({ reference: newReference("key"), accountId: flags.account, scope: flags.scope, name: flags.name }),
      );
      if (flags.json) terminal.print(JSON.stringify({ id: made.id, key: made.key, account: made.accountId, scope: made.scope }));
      else {
        terminal.print(`key ${made.key}`);
        terminal.note(`id ${made.id}, scope ${made.scope}; keep the key now, it is not shown again`);
      }
    });
  withExamples(
    withJson(withDir(create)),
    "keys create --account acc_01k…",
    "keys create --account acc_01k… --scope read --name dashboards",
    "keys create --account acc_01k… --json | jq -r .key",
  );

  const list = keys
    .command("list")
    .description("list keys by their first characters")
    .option("--account <id>", "only this account's")
    .action(async (flags: Flags & { account?: string }) => {
      const rows = await withOffice(settingsOf(session, flags), (office) =>
        office.listKeys({ accountId: flags.account ?? null }),
      );
      if (flags.json) terminal.print(JSON.stringify(rows.map(keyJson)));
      else if (rows.length === 0) terminal.note("no keys; genrouter keys create --account ID makes one");
      else for (const line of keyLines(rows)) terminal.print(line);
    });
  withExamples(withJson(withDir(list)), "keys list", "keys list --account acc_01k… --json");

  const revoke = keys
    .command("revoke <id>")
    .description("refuse a key from now on; generations it submitted go on")
    .action(async (id: string, flags: Flags) => {
      const row = await withOffice(settingsOf(session, flags), (office) => office.revokeKey({ id }));
      if (flags.json) terminal.print(JSON.stringify(keyJson(row)));
      else for (const line of keyLines([row])) terminal.print(line);
    });
  withExamples(withJson(withDir(revoke)), "keys revoke key_01k…");
};
