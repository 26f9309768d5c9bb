// Client of the control socket: the admin service of a running service, for commands.

import type { AdminService } from "../admin/admin-service.ts";
import type { RuntimeStats, StatsReader } from "../app/runtime-stats.ts";
import type { Settings } from "../config/schema.ts";
import type { About, ControlAnswer } from "./control.ts";
import { CommandError, EXITS, type Exit } from "./exit-codes.ts";
import { actorToHeader, BY_HEADER, commandActor } from "./principal.ts";
import { findSocketPath } from "./socket-path.ts";

const MAX_ANSWER_MS = 30_000;
/** Longer than the default for lists of providers, which are read page by page. */
const MAX_MS: Readonly<Record<string, number>> = { listJobs: 660_000, about: 10_000, settings: 10_000 };
const TRIES = 3;
/** Requests that are answered immediately or not at all, and are therefore not repeated. */
const ONCE: ReadonlySet<string> = new Set(["about", "settings"]);

/** No process listens on the socket: the service does not run, or not yet. */
class ServiceNotRunning extends CommandError {
  constructor() {
    super(EXITS.tryAgain, "the service has just stopped", { fix: "run the same command again", code: "service_gone" });
  }
}

const isNotRunning = (fault: unknown): boolean =>
  fault instanceof Error &&
  "code" in fault &&
  ["ENOENT", "ECONNREFUSED", "ENOTSOCK", "ENOTDIR", "EACCES"].includes(String(fault.code));

const send = async (path: string, name: string, ask?: unknown, longestMs?: number): Promise<unknown> => {
  for (let left = ONCE.has(name) ? 1 : TRIES; ; left--)
    try {
      const response = await fetch(`http://control/${name}`, {
        unix: path,
        signal: AbortSignal.timeout(longestMs ?? MAX_MS[name] ?? MAX_ANSWER_MS),
        ...(ask === undefined
          ? {}
          : { method: "POST", body: JSON.stringify(ask), headers: { [BY_HEADER]: actorToHeader(commandActor()) } }),
      });
      const answer = (await response.json()) as ControlAnswer;
      if ("ok" in answer) return answer.ok;
      const { exit, message, fix, code } = answer.fault;
      throw new CommandError(exit as Exit, message, { code, ...(fix ? { fix } : {}) });
    } catch (fault) {
      if (fault instanceof CommandError) throw fault;
      if (isNotRunning(fault)) throw new ServiceNotRunning();
      // The connection broke and the request may have been executed. Its reference makes a retry safe.
      if (left <= 1)
        throw new CommandError(
          EXITS.tryAgain,
          `the running service did not respond (${fault instanceof Error ? fault.message : fault})`,
          {
            fix: "check its log, then try again; with a --reference, credits are added only once",
            code: "no_answer",
          },
        );
    }
};

/**
 * State of the service that runs in a data directory; undefined if none runs.
 * @throws CommandError if it does not answer within `longestMs`
 */
export const requestFor = async (dir: string, longestMs?: number): Promise<About | undefined> => {
  try {
    return (await send(findSocketPath(dir), "about", undefined, longestMs)) as About;
  } catch (fault) {
    if (fault instanceof ServiceNotRunning) return undefined;
    throw fault;
  }
};

/**
 * Settings of the service that runs in a data directory, including credentials; undefined if none runs or it cannot return them.
 */
export const fetchSettings = async (dir: string): Promise<Settings | undefined> => {
  try {
    return (await send(findSocketPath(dir), "settings")) as Settings;
  } catch (fault) {
    // An older release does not have this operation.
    if (fault instanceof ServiceNotRunning || (fault instanceof CommandError && fault.code === "unknown_operation"))
      return undefined;
    throw fault;
  }
};

/** Runtime statistics of the service that runs in a data directory. @throws CommandError if none runs. */
export const fetchStats = async (dir: string, { collect }: StatsReader): Promise<RuntimeStats> =>
  (await send(findSocketPath(dir), collect ? "figures?collect" : "figures")) as RuntimeStats;

/**
 * Creates an inspector token of the service that runs in a data directory. @throws CommandError if none runs, or the inspector is
 * off.
 */
export const fetchInspectorToken = async (dir: string): Promise<{ token: string; expiresAtMs: number }> =>
  (await send(findSocketPath(dir), "inspectorToken", {})) as { token: string; expiresAtMs: number };

/** Admin service of the service that runs in a data directory. Each method call is one request. */
export const adminOverSocket = (dir: string): AdminService => {
  const path = findSocketPath(dir);
  const over =
    <O extends keyof AdminService>(operation: O) =>
    (ask: Parameters<AdminService[O]>[0]) =>
      send(path, operation, ask) as ReturnType<AdminService[O]>;
  return {
    createAccount: over("createAccount"),
    listAccounts: over("listAccounts"),
    setAccount: over("setAccount"),
    createKey: over("createKey"),
    listKeys: over("listKeys"),
    setKey: over("setKey"),
    rotateKey: over("rotateKey"),
    revokeKey: over("revokeKey"),
    addCredits: over("addCredits"),
    takeCredits: over("takeCredits"),
    showCredits: over("showCredits"),
    listUndecided: over("listUndecided"),
    decideReversal: over("decideReversal"),
    settleRestored: over("settleRestored"),
    listUsers: over("listUsers"),
    inviteUser: over("inviteUser"),
    withdrawInvitation: over("withdrawInvitation"),
    setUser: over("setUser"),
    resetUser: over("resetUser"),
    setUpLink: over("setUpLink"),
    listProviders: over("listProviders"),
    listModels: over("listModels"),
    listRoutes: over("listRoutes"),
    setProviderKey: over("setProviderKey"),
    dropProviderKey: over("dropProviderKey"),
    rotateMasterKey: over("rotateMasterKey"),
    listJobs: over("listJobs"),
    checkRoute: over("checkRoute"),
    tryRoute: over("tryRoute"),
    findTrial: over("findTrial"),
    decideGeneration: over("decideGeneration"),
    switchRoute: over("switchRoute"),
  };
};
