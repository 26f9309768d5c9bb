// `genrouter inspector`: creates a token for receivers of the inspector's frames.
//
// It also prints the URL for them.
import type { Command } from "commander";
import { fetchInspectorToken, requestFor } from "../control-client.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { type DirFlag, dirOf, type JsonFlag, type Session, withDir, withExamples, withJson } from "../session.ts";

type Flags = DirFlag & JsonFlag;

export const addInspector = (program: Command, session: Session): void => {
  const { terminal } = session;
  const inspector = withExamples(
    program.command("inspector").description("show the running service in the Stately Inspector"),
    "inspector token",
  );

  const token = inspector
    .command("token")
    .description("create a token for a page or program that receives the frames of the inspector")
    .action(async (flags: Flags) => {
      const dir = dirOf(session, flags);
      const about = await requestFor(dir);
      if (!about)
        throw new CommandError(EXITS.failure, `no service is running on ${dir}`, {
          fix: "start one with genrouter serve, or name its data directory with --data",
          code: "no_service",
        });
      const made = await fetchInspectorToken(dir);
      const url = `${about.url.replace(/^http/, "ws")}/inspector/ws?token=${made.token}`;
      const expiresAt = new Date(made.expiresAtMs).toISOString();
      if (flags.json) return terminal.print(JSON.stringify({ token: made.token, url, expires_at: expiresAt }));
      terminal.print(`url ${url}`);
      terminal.note(`valid for connections until ${expiresAt}; behind a proxy use its host name with wss://`);
    });
  withExamples(withJson(withDir(token)), "inspector token", "inspector token --json | jq -r .url");
};
