// `genrouter keys`: creates, lists, changes, rotates and revokes API keys.
//
// A key is printed once, at its creation.
import { type Command, Option } from "commander";
import { newReference } from "../../admin/request-reference.ts";
import type { KeyScope } from "../../domain/types.ts";
import { withAdminService } from "../admin-connection.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { keyJson, keyLines, overlapOf, type TermFlags, termsOf, withTerms } from "../key-flags.ts";
import { type DirFlag, type JsonFlag, type Session, settingsOf, withDir, withExamples, withJson } from "../session.ts";

type Flags = DirFlag & JsonFlag;

export const addKeys = (program: Command, session: Session): void => {
  const { terminal } = session;
  const keys = withExamples(
    program.command("keys").description("create, list, update, rotate and revoke API keys"),
    "keys create --account acc_01k…",
    "keys list",
  );

  const create = keys
    .command("create")
    .description("create a key; it is printed once, and the service stores only its hash")
    .requiredOption("--account <id>", "account of the key")
    .addOption(
      new Option("--scope <scope>", "generate: everything; read: read access only")
        .choices(["generate", "read"])
        .default("generate"),
    )
    .option("--name <name>", "name", "")
    .action(async (flags: Flags & TermFlags & { account: string; scope: KeyScope; name: string }) => {
      const terms = termsOf(flags, Date.now());
      const made = await withAdminService(settingsOf(session, flags), (admin) =>
        admin.createKey({
          ...{ reference: newReference("key"), accountId: flags.account, scope: flags.scope, name: flags.name },
          ...(Object.keys(terms).length === 0 ? {} : { terms }),
        }),
      );
      if (flags.json) terminal.print(JSON.stringify({ id: made.id, key: made.key, account: made.accountId, scope: made.scope }));
      else {
        terminal.print(`key ${made.key}`);
        terminal.note(`id ${made.id}, scope ${made.scope}; store the key now; it cannot be displayed again`);
      }
    });
  withTerms(create, { never: "", none: "", all: "" });
  withExamples(
    withJson(withDir(create)),
    "keys create --account acc_01k…",
    "keys create --account acc_01k… --expires 90d --limit-day 20 --limit-month 300 --models vidmodel-2.0,vidmodel-2.0-fast",
    "keys create --account acc_01k… --scope read --name dashboards",
    "keys create --account acc_01k… --json | jq -r .key",
  );

  const list = keys
    .command("list")
    .description("list keys by prefix, with limits, last use and the spend of 30 days")
    .option("--account <id>", "only this account")
    .action(async (flags: Flags & { account?: string }) => {
      const rows = await withAdminService(settingsOf(session, flags), (admin) =>
        admin.listKeys({ accountId: flags.account ?? null }),
      );
      if (flags.json) terminal.print(JSON.stringify(rows.map(keyJson)));
      else if (rows.length === 0) terminal.note("no keys; genrouter keys create --account ID creates one");
      else for (const line of keyLines(rows, Date.now())) terminal.print(line);
    });
  withExamples(withJson(withDir(list)), "keys list", "keys list --account acc_01k… --json");

  const set = keys
    .command("set <id>")
    .description("update the policy of a key; options that are not given stay unchanged")
    .option("--name <name>", "name")
    .action(async (id: string, flags: Flags & TermFlags & { name?: string }) => {
      const change = { ...termsOf(flags, Date.now()), ...(flags.name === undefined ? {} : { name: flags.name }) };
      if (Object.keys(change).length === 0)
        throw new CommandError(EXITS.usage, "nothing to change; add a flag of genrouter keys set --help", { code: "bad_flag" });
      const row = await withAdminService(settingsOf(session, flags), (admin) => admin.setKey({ id, ...change }));
      if (flags.json) terminal.print(JSON.stringify(keyJson(row)));
      else for (const line of keyLines([row], Date.now())) terminal.print(line);
    });
  withTerms(set, { never: ", or never", none: ", or none", all: ", or all" });
  withExamples(
    withJson(withDir(set)),
    "keys set key_01k… --limit-week 50 --limit-day none",
    "keys set key_01k… --expires never --models all",
  );

  const rotate = keys
    .command("rotate <id>")
    .description("create a key with the same policy and keep the old key valid for an overlap; both share the same limits")
    .option("--overlap <time>", "time that the old key stays valid: 0s to 30d", "24h")
    .action(async (id: string, flags: Flags & { overlap: string }) => {
      const overlapMs = overlapOf(flags.overlap);
      const made = await withAdminService(settingsOf(session, flags), (admin) =>
        admin.rotateKey({ reference: newReference("key"), id, overlapMs }),
      );
      const until = new Date(made.fromExpiresAtMs).toISOString();
      if (flags.json)
        terminal.print(
          JSON.stringify({
            ...{ id: made.id, key: made.key, account: made.accountId, scope: made.scope },
            ...{ rotated_from: made.from, rotated_from_expires_at: until },
          }),
        );
      else {
        terminal.print(`key ${made.key}`);
        terminal.note(`id ${made.id}; store the key now; it cannot be displayed again. ${made.from} is rejected after ${until}`);
      }
    });
  withExamples(withJson(withDir(rotate)), "keys rotate key_01k…", "keys rotate key_01k… --overlap 0s --json | jq -r .key");

  const revoke = keys
    .command("revoke <id>")
    .description("revoke a key; its open generations continue")
    .action(async (id: string, flags: Flags) => {
      const row = await withAdminService(settingsOf(session, flags), (admin) => admin.revokeKey({ id }));
      if (flags.json) terminal.print(JSON.stringify(keyJson(row)));
      else for (const line of keyLines([row], Date.now())) terminal.print(line);
    });
  withExamples(withJson(withDir(revoke)), "keys revoke key_01k…");
};
