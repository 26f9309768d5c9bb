// `genrouter healthcheck`: probes the service once and prints one line, for containers and supervisors.
import type { Command } from "commander";
import { requestFor } from "../control-client.ts";
import { fetchHealth } from "../doctor/process.ts";
import { EXITS } from "../exit-codes.ts";
import { type DirFlag, dirOf, type JsonFlag, parseWhole, type Session, withDir, withExamples, withJson } from "../session.ts";

type Flags = DirFlag & JsonFlag & { ready?: true; url?: string; timeout: string };

const MAX_S = 60;

export const addHealthcheck = (program: Command, session: Session): void => {
  const { terminal } = session;
  const command = program
    .command("healthcheck")
    .description("check /healthz of the service, or /readyz with --ready; exit 0 for healthy, 1 otherwise")
    .option("--ready", "check /readyz instead of /healthz")
    .option("--url <url>", "URL of the service (GENROUTER_URL, else the service of the data directory)")
    .option("--timeout <s>", "timeout in seconds", "3")
    .action(async (flags: Flags) => {
      const patienceMs = parseWhole(flags.timeout, "--timeout", 1, MAX_S) * 1000;
      const path = flags.ready ? "/readyz" : "/healthz";
      const dir = dirOf(session, flags);
      const named = flags.url ?? session.env.GENROUTER_URL;
      const about = named === undefined ? await requestFor(dir, patienceMs).catch(() => "silent" as const) : undefined;
      const url = named ?? (about === "silent" ? undefined : about?.url);
      const health =
        url === undefined
          ? { ok: false, says: about === "silent" ? `the service on ${dir} does not respond` : `no service is running on ${dir}` }
          : await fetchHealth(url.replace(/\/+$/, ""), path, patienceMs);
      if (!health.ok) session.exit = EXITS.failure;
      if (flags.json) return terminal.print(JSON.stringify({ ok: health.ok, says: health.says, url: url ?? null, path }));
      terminal.print(`${health.ok ? "ok" : "not ok"}: ${health.says}`);
    });
  withExamples(withJson(withDir(command)), "healthcheck --data /data", "healthcheck --ready --url http://127.0.0.1:8080");
};
