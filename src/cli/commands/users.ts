// `genrouter users`: invites, lists, resets and disables console users, and prints the setup link.
import type { Command } from "commander";
import type { CreatedInvitation } from "../../admin/users.ts";
import type { Settings } from "../../config/schema.ts";
import type { UserRole } from "../../domain/user-mutations.ts";
import type { UserRow } from "../../store/user-reads.ts";
import { withAdminService } from "../admin-connection.ts";
import { requestFor } from "../control-client.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { type DirFlag, type JsonFlag, type Session, settingsOf, withDir, withExamples, withJson } from "../session.ts";
import { table } from "../terminal.ts";

type Flags = DirFlag & JsonFlag;

const stamp = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
const userJson = ({ id, email, name, role, accountId, createdAtMs, disabledAtMs, seenAtMs }: UserRow) => ({
  ...{ id, email, name, role, account: accountId },
  ...{ created_at: stamp(createdAtMs), disabled_at: stamp(disabledAtMs), seen_at: stamp(seenAtMs) },
});
const userLines = (rows: readonly UserRow[]): string[] =>
  table(
    ["ID", "EMAIL", "NAME", "ROLE", "ACCOUNT", "STATE", "LAST SEEN"],
    rows.map((row) => [
      row.id,
      row.email,
      row.name,
      row.role,
      row.accountId ?? "-",
      row.disabledAtMs === null ? "active" : "disabled",
      stamp(row.seenAtMs)?.slice(0, 16).replace("T", " ") ?? "never",
    ]),
  );

const ROLES: readonly UserRole[] = ["member", "operator", "viewer"];
const roleOf = (text: string): UserRole => {
  const role = ROLES.find((one) => one === text);
  if (role) return role;
  throw new CommandError(EXITS.usage, `--role: ${JSON.stringify(text)} is not a role; use ${ROLES.join(", ")}`, {
    code: "bad_flag",
  });
};

/** @throws CommandError (usage) if a text is not an e-mail address. */
const requireEmailAddress = async (text: string): Promise<void> => {
  const { readEmail } = await import("../../domain/user-mutations.ts");
  if (readEmail(text) !== undefined) return;
  throw new CommandError(EXITS.usage, `${JSON.stringify(text)} is not an e-mail address; expected name@host`, {
    code: "bad_email",
  });
};

export const addUsers = (program: Command, session: Session): void => {
  const { terminal } = session;
  const users = withExamples(
    program.command("users").description("manage the users of the console"),
    "users setup",
    "users invite ada@example.com --account acc_01k…",
    "users list",
  );

  /** Complete URL if the service runs, else the path alone. */
  const addressOf = async (settings: Settings, path: string): Promise<string> =>
    `${settings.server.public_url.replace(/\/$/, "") || ((await requestFor(settings.data.dir))?.url ?? "")}${path}`;
  const printLink = async (flags: Flags, { id, path, email, expiresAtMs }: CreatedInvitation): Promise<void> => {
    const url = await addressOf(settingsOf(session, flags), path);
    if (flags.json) return terminal.print(JSON.stringify({ id, email, url, expires_at: stamp(expiresAtMs) }));
    terminal.print(url);
    terminal.note(`${email === null ? "" : `for ${email}, `}once, until ${stamp(expiresAtMs)}; it is displayed only once`);
  };

  const list = users
    .command("list")
    .description("list users and open invitations")
    .action(async (flags: Flags) => {
      const { users: rows, invitations } = await withAdminService(settingsOf(session, flags), (admin) => admin.listUsers({}));
      if (flags.json) {
        const open = invitations.map(({ id, kind, role, email, accountId, expiresAtMs }) => ({
          ...{ id, kind, role, email, account: accountId, expires_at: stamp(expiresAtMs) },
        }));
        return terminal.print(JSON.stringify({ people: rows.map(userJson), invitations: open }));
      }
      if (rows.length === 0) terminal.note("no users yet; genrouter users setup creates the link for the first operator");
      else for (const line of userLines(rows)) terminal.print(line);
      for (const { id, kind, email, role, expiresAtMs } of invitations)
        terminal.note(`open: ${id}  ${kind} ${email ?? ""} as ${role}, until ${stamp(expiresAtMs)}`);
    });
  withExamples(withJson(withDir(list)), "users list", "users list --json | jq -r '.people[].email'");

  const invite = users
    .command("invite <email>")
    .description("create an invitation link for a new user")
    .option("--role <role>", "member (of one account), operator, or viewer (read access of an operator)", "member")
    .option("--account <id>", "the account to join")
    .option("--new-account <name>", "create an account with this name when the user accepts")
    .action(async (email: string, flags: Flags & { role: string; account?: string; newAccount?: string }) => {
      await requireEmailAddress(email);
      const request = {
        email,
        role: roleOf(flags.role),
        accountId: flags.account ?? null,
        accountName: flags.newAccount ?? null,
      };
      await printLink(flags, await withAdminService(settingsOf(session, flags), (admin) => admin.inviteUser(request)));
    });
  withExamples(
    withJson(withDir(invite)),
    "users invite ada@example.com --account acc_01k…",
    "users invite ben@example.com --new-account ben",
    "users invite cy@example.com --role operator",
  );

  const reset = users
    .command("reset <user>")
    .description("create a link to reset a user's password; it ends the user's sessions")
    .action(async (user: string, flags: Flags) =>
      printLink(flags, await withAdminService(settingsOf(session, flags), (admin) => admin.resetUser({ user }))),
    );
  withExamples(withJson(withDir(reset)), "users reset ada@example.com");

  const set = (name: string, description: string, disabled: boolean) => {
    const command = users
      .command(`${name} <user>`)
      .description(description)
      .action(async (user: string, flags: Flags) => {
        const row = await withAdminService(settingsOf(session, flags), (admin) => admin.setUser({ user, disabled }));
        if (flags.json) terminal.print(JSON.stringify(userJson(row)));
        else for (const line of userLines([row])) terminal.print(line);
      });
    withExamples(withJson(withDir(command)), `users ${name} ada@example.com`);
  };
  set("disable", "disable a user and end their sessions", true);
  set("enable", "enable a user", false);

  const setup = users
    .command("setup")
    .description("create the sign-in link of the first operator; valid for 30 minutes")
    .action(async (flags: Flags) =>
      printLink(flags, await withAdminService(settingsOf(session, flags), (admin) => admin.setUpLink({}))),
    );
  withExamples(withJson(withDir(setup)), "users setup");
};
