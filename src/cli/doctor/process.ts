// Doctor checks of the service process: running, ready, and of the same release.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { acquireMutex } from "../../store/sqlite/snapshot-copy/directory-mutex.ts";
import type { About } from "../control.ts";
import { VERSION } from "../version.ts";
import { type Finding, fault, ok, textOf, warning } from "./finding.ts";

const PATIENCE_MS = 3000;
/** Written by `genrouter install systemd`. */
const UNIT = "/etc/systemd/system/genrouter.service";

/** Requests a health path of the service; returns the response or the reason of the failure. */
export const fetchHealth = async (
  url: string,
  path: "/healthz" | "/readyz",
  patienceMs: number,
): Promise<{ ok: boolean; says: string }> => {
  try {
    const answer = await fetch(`${url}${path}`, { signal: AbortSignal.timeout(patienceMs) });
    const body = (await answer.json().catch(() => ({}))) as { status?: string; error?: { message?: string } };
    const says = body.error?.message ?? body.status ?? `status ${answer.status}`;
    return { ok: answer.status === 200, says };
  } catch (thrown) {
    const isLate = thrown instanceof Error && thrown.name === "TimeoutError";
    return { ok: false, says: isLate ? `no response within ${patienceMs} ms` : textOf(thrown) };
  }
};

/** True if any process owns the directory, even one that does not answer. */
const isOwned = (dir: string): boolean => {
  const lock = join(dir, "lock.db");
  if (!existsSync(lock)) return false;
  const giveBack = acquireMutex(lock);
  giveBack?.();
  return giveBack === null;
};

/** Command that starts the service. A start as root would create files that the service's user cannot read. */
const startOf = (dir: string): string =>
  existsSync(UNIT) ? "systemctl status genrouter, journalctl -u genrouter -n 50" : `genrouter serve --data ${dir}`;

export const serviceFindings = async (dir: string, about: About | undefined): Promise<Finding[]> => {
  if (!about) {
    if (isOwned(dir))
      return [
        fault(
          "service",
          `a process uses ${dir} and does not respond`,
          `it may be starting or draining; otherwise end the process named in ${join(dir, "owner")} and start again`,
        ),
      ];
    return [warning("service", `no service is running on ${dir}`, startOf(dir))];
  }
  const findings: Finding[] = [];
  const ready = await fetchHealth(about.url, "/readyz", PATIENCE_MS);
  if (about.version !== VERSION)
    findings.push(
      warning(
        "service",
        `it runs version ${about.version}, this binary is ${VERSION}`,
        "restart the service, or use the binary of that version",
      ),
    );
  if (!ready.ok)
    findings.push(fault("service", `${about.url} is not ready: ${ready.says}`, `curl ${about.url}/readyz, and its log`));
  else findings.push(ok("service", `${about.url}, pid ${about.pid}, ready`));
  return findings;
};
