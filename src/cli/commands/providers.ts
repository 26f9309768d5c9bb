// `genrouter providers`: lists providers and manages the credentials in the vault.
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { ProviderRow } from "../../routing/inventory.ts";
import { withAdminService } from "../admin-connection.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { type DirFlag, type JsonFlag, type Session, settingsOf, withDir, withExamples, withJson } from "../session.ts";
import { table } from "../terminal.ts";

type Flags = DirFlag & JsonFlag;

const sourceText = ({ key }: ProviderRow): string => {
  if (key === null) return "none";
  if (key.from === "vault") return `stored here (${key.id})`;
  return key.from === "file" ? `file ${key.path}` : "settings";
};
const rowJson = ({ id, account, name, recovery, isChecked, key, routes, up }: ProviderRow) => ({
  ...{ id, account, name, recovery, answers: isChecked ? "later" : "immediately", routes, routes_up: up },
  key:
    key === null
      ? null
      : { from: key.from, ...(key.from === "vault" ? { id: key.id, set_at: new Date(key.setAtMs).toISOString() } : {}) },
});

/** No provider's key is nearly as long; a longer text is a wrong file. */
const MAX_KEY = 8192;

const textOf = async (session: Session, account: string, file: string | undefined): Promise<string> => {
  if (file !== undefined)
    try {
      return readFileSync(file, "utf8");
    } catch (fault) {
      throw new CommandError(EXITS.usage, `--file: ${fault instanceof Error ? fault.message : fault}`, { code: "bad_flag" });
    }
  if (process.stdin.isTTY) session.terminal.note(`paste the key of ${account} and press Ctrl-D; it is not displayed`);
  return await Bun.stdin.text();
};

/** Reads a key from a file or standard input, because a command-line argument would be stored in the shell's history. */
const readKey = async (session: Session, account: string, file: string | undefined): Promise<string> => {
  const key = (await textOf(session, account, file)).trim();
  const from = file ?? "standard input";
  const fault = (why: string) => new CommandError(EXITS.usage, `${from} ${why}`, { code: "bad_key" });
  if (key === "") throw fault("has no key; enter one, or name a file with --file");
  if (key.length > MAX_KEY) throw fault(`is longer than ${MAX_KEY}; a key has at most that many characters`);
  return key;
};

export const addProviders = (program: Command, session: Session): void => {
  const { terminal } = session;
  const providers = withExamples(
    program.command("providers").description("list providers and manage their credentials"),
    "providers list",
    "providers set-key fal < fal.key",
  );

  const list = providers
    .command("list")
    .description("list providers with the source of the credential, the recovery method and the number of available routes")
    .action(async (flags: Flags) => {
      const rows = await withAdminService(settingsOf(session, flags), (admin) => admin.listProviders({}));
      if (flags.json) return terminal.print(JSON.stringify(rows.map(rowJson)));
      const cells = rows.map((row) => [row.id, row.name, sourceText(row), row.recovery, String(row.up), String(row.routes)]);
      for (const line of table(["ID", "NAME", "KEY", "LOST JOBS", "UP", "ROUTES"], cells, [4, 5])) terminal.print(line);
    });
  withExamples(withJson(withDir(list)), "providers list", "providers list --json | jq -r '.[] | select(.key) | .id'");

  const setKey = providers
    .command("set-key <account>")
    .description("store a provider's credential, encrypted; a running service uses it immediately")
    .option("--file <path>", "read the key from a file instead of standard input")
    // An extra word is probably the key itself, which the default error message would repeat.
    .argument("[words...]")
    .usage("[options] <account>")
    .action(async (account: string, words: readonly string[], flags: Flags & { file?: string }) => {
      if (words.length > 0)
        throw new CommandError(EXITS.usage, "a key cannot be an argument; pass it on standard input or with --file", {
          code: "usage",
        });
      const key = await readKey(session, account, flags.file);
      const made = await withAdminService(settingsOf(session, flags), (admin) => admin.setProviderKey({ account, key }), {
        create: "live",
        note: terminal.note,
      });
      if (flags.json) return terminal.print(JSON.stringify({ account: made.account, id: made.id, in_use: !made.isShadowed }));
      terminal.print(`key ${made.id} of ${made.account} is stored`);
      if (made.isShadowed) terminal.warn("the configured credential takes precedence");
    });
  withExamples(
    withJson(withDir(setKey)),
    "providers set-key fal < fal.key",
    "providers set-key replicate --file /run/secrets/replicate",
  );

  const dropKey = providers
    .command("drop-key <account>")
    .description("delete a stored credential; its routes become unavailable unless the configuration has another")
    .action(async (account: string, flags: Flags) => {
      const dropped = await withAdminService(settingsOf(session, flags), (admin) => admin.dropProviderKey({ account }));
      terminal.print(flags.json ? JSON.stringify(dropped) : `the key of ${dropped.account} is deleted`);
    });
  withExamples(withJson(withDir(dropKey)), "providers drop-key fal");

  const rotate = providers
    .command("rotate-master-key")
    .description(
      "create a new master key, re-encrypt all stored credentials, delete the old key; with a shared database, stop the other nodes first and copy provider-keys.master to every node before its start",
    )
    .action(async (flags: Flags) => {
      const settings = settingsOf(session, flags);
      const { accounts } = await withAdminService(settings, (admin) => admin.rotateMasterKey({}));
      terminal.print(
        flags.json ? JSON.stringify({ accounts }) : `${accounts.length} stored credentials are encrypted with the new master key`,
      );
      if (settings.store.url !== "" && !flags.json)
        terminal.note(
          `copy ${settings.data.dir}/provider-keys.master to every node before its start: the old file cannot decrypt the credentials`,
        );
    });
  withExamples(withJson(withDir(rotate)), "providers rotate-master-key");
};
