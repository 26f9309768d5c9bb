// Exit codes of commands, and conversion of errors to messages.

import { GenrouterError, StillRunning } from "../../client/src/errors.ts";
import { AdminError } from "../admin/admin-error.ts";
import { BackupError, type BackupErrorKind } from "../backup/errors.ts";
import { BadSetting } from "../config/schema.ts";
import { ApiError } from "../domain/api-errors.ts";
import { StoreFull, StoreUnknown } from "../domain/commit-errors.ts";
import { StorageRefused } from "../files/port.ts";
import { BadAllowEntry } from "../media/host-allowlist.ts";
import { DatabaseUnavailable, ServerUnfit, StoreMigrated, WrongMode, WrongSchema } from "../store/errors.ts";
import { MigrationError, type MigrationErrorKind } from "../store/migrate-to-postgres/errors.ts";
import { DirectoryInUse, DirectoryUnusable, StoreDamaged } from "../store/sqlite/errors.ts";

/** Exit codes of all commands; the table is part of `--help`. */
export const EXITS = {
  ok: 0,
  failure: 1,
  usage: 2,
  unauthorized: 3,
  notFound: 4,
  credits: 5,
  refused: 6,
  generationFailed: 7,
  timedOut: 8,
  tryAgain: 75,
  unwritable: 78,
  interrupted: 130,
  terminated: 143,
} as const;
export type Exit = (typeof EXITS)[keyof typeof EXITS] | 70;

/** Table of exit codes in `--help`. */
export const EXIT_TABLE = `Exit codes:
  0 ok · 1 failure · 2 usage, settings or a damaged database · 3 not authorised (401, 403) · 4 not found · 5 insufficient credits (402)
  6 refused input (400, 409, 413, 422) · 7 the generation failed · 8 waiting time over · 70 outcome of a write unknown
  75 try again (429, 503, data in use, settings that cannot be read) · 78 data directory or environment unusable · 130 Ctrl-C · 143 terminated`;

const EXIT_OF_BACKUP: Readonly<Record<BackupErrorKind, Exit>> = {
  in_use: EXITS.tryAgain,
  no_room: EXITS.unwritable,
  unusable: EXITS.unwritable,
  damaged: EXITS.failure,
  newer: EXITS.failure,
  not_found: EXITS.notFound,
  stopped: EXITS.interrupted,
  failed: EXITS.failure,
};

const EXIT_OF_MOVE: Readonly<Record<MigrationErrorKind, Exit>> = {
  refused: EXITS.failure,
  unreachable: EXITS.tryAgain,
  unauthorized: EXITS.unauthorized,
  not_found: EXITS.notFound,
  no_room: EXITS.tryAgain,
  not_whole: EXITS.failure,
  bad_address: EXITS.usage,
};

/** An error that the user can resolve: one sentence, the remedy, and the exit code. */
export class CommandError extends Error {
  readonly exit: Exit;
  /** The remedy; absent if the message already contains it. */
  readonly fix: string | undefined;
  /** Error code for `--json` output. */
  readonly code: string;

  constructor(exit: Exit, message: string, more: { fix?: string; code?: string } = {}) {
    super(message);
    this.exit = exit;
    this.fix = more.fix;
    this.code = more.code ?? "command_failed";
  }
}

/**
 * An error as it is printed. `expected`: an ordinary error, printed without a stack. `response`: the error of an API response,
 * whose code and request id are members of their own in the output of `--json`.
 */
export type CliMessage = {
  exit: Exit;
  lines: string[];
  code: string;
  expected: boolean;
  response?: { message: string; requestId: string | null };
};

/** The error in the output of `--json`. */
export const errorJson = ({ code, lines, response }: CliMessage): string => {
  const { message, requestId } = response ?? { message: lines.join("; "), requestId: null };
  return JSON.stringify({ error: { code, message, ...(requestId === null ? {} : { request_id: requestId }) } });
};

const codeOf = (fault: unknown): string | undefined =>
  typeof fault === "object" && fault !== null && "code" in fault && typeof fault.code === "string" ? fault.code : undefined;

/** Converts an error of the API client to a message with a remedy. */
const apiErrorMessage = ({ code, status, message, requestId }: GenrouterError): CliMessage => {
  if (code === "no_key")
    return { exit: EXITS.unauthorized, lines: ["no API key: set GENROUTER_API_KEY or pass --key"], code, expected: true };
  if (code === "unreachable") {
    const fix = "is the service running? genrouter serve starts it; --url or GENROUTER_URL sets its address";
    return { exit: EXITS.failure, lines: [message, fix], code, expected: true };
  }
  if (status === 0) return { exit: EXITS.failure, lines: [message], code, expected: true };
  const lines = [`${code}: ${message}`, ...(requestId === null ? [] : [`request id ${requestId}`])];
  return { exit: exitOfStatus(status), lines, code, expected: true, response: { message, requestId } };
};

/**
 * A setting that could not be read has the exit code on which a service manager restarts. An invalid setting remains invalid
 * until an operator changes it.
 */
const settingMessage = ({ message, isPassing }: BadSetting): CliMessage => ({
  ...(isPassing ? { exit: EXITS.tryAgain, code: "setting_unreadable" } : { exit: EXITS.usage, code: "bad_setting" }),
  ...{ lines: [message], expected: true },
});

/**
 * Converts an error to a message. The catalogue is imported only here, because it is large and most commands never need it;
 * `--help` would otherwise wait for it.
 */
export const messageOf = async (fault: unknown): Promise<CliMessage> => {
  if (fault instanceof CommandError)
    return { exit: fault.exit, lines: [fault.message, ...(fault.fix ? [fault.fix] : [])], code: fault.code, expected: true };
  if (fault instanceof AdminError)
    return {
      exit: EXITS[fault.kind],
      lines: [fault.message, ...(fault.fix ? [fault.fix] : [])],
      code: fault.code,
      expected: true,
    };
  if (fault instanceof GenrouterError) return apiErrorMessage(fault);
  if (fault instanceof StillRunning)
    return {
      exit: EXITS.timedOut,
      lines: [fault.message, `genrouter download ${fault.generation.id} resumes waiting`],
      code: "timed_out",
      expected: true,
    };
  if (fault instanceof BadSetting) return settingMessage(fault);
  const message = fault instanceof Error ? fault.message : String(fault);
  const messageWith = (exit: Exit, code: string): CliMessage => ({ exit, lines: [message], code, expected: true });
  if (fault instanceof DirectoryInUse) return messageWith(EXITS.tryAgain, "directory_in_use");
  if (fault instanceof DirectoryUnusable) return messageWith(EXITS.unwritable, "directory_unusable");
  if (fault instanceof StorageRefused)
    return {
      ...messageWith(EXITS.unwritable, "directory_unusable"),
      lines: [`the result files of the data directory: ${message}`, "check its disk, then start again"],
    };
  if (fault instanceof WrongMode) return messageWith(EXITS.usage, "wrong_mode");
  if (fault instanceof DatabaseUnavailable) return messageWith(EXITS.tryAgain, "database_away");
  if (fault instanceof StoreMigrated) return messageWith(EXITS.usage, "store_moved");
  if (fault instanceof MigrationError) return messageWith(EXIT_OF_MOVE[fault.kind], `move_${fault.kind}`);
  if (fault instanceof ServerUnfit) return messageWith(EXITS.usage, "server_unfit");
  if (fault instanceof WrongSchema) return messageWith(EXITS.failure, "wrong_schema");
  if (fault instanceof StoreDamaged) return messageWith(EXITS.usage, "store_damaged");
  if (fault instanceof StoreUnknown) return messageWith(70, "outcome_unknown");
  if (fault instanceof StoreFull)
    return { ...messageWith(EXITS.tryAgain, "disk_full"), lines: [message, "free space, then run the same command again"] };
  if (fault instanceof BackupError) return messageWith(EXIT_OF_BACKUP[fault.kind], `backup_${fault.kind}`);
  if (fault instanceof BadAllowEntry) return messageWith(EXITS.usage, "bad_setting");
  const { fileFaults } = await import("./catalogue-faults.ts");
  const faults = fileFaults(fault);
  if (faults) return { ...messageWith(faults.isPassing ? EXITS.tryAgain : EXITS.usage, "catalogue_fault"), lines: faults.lines };
  if (fault instanceof ApiError) return { exit: exitOfStatus(fault.status), lines: [message], code: fault.code, expected: true };
  const code = codeOf(fault);
  // Damage that the check at opening does not detect.
  if (code !== undefined && /^SQLITE_(CORRUPT|NOTADB)/.test(code))
    return {
      ...messageWith(EXITS.usage, "store_damaged"),
      lines: [`the database is damaged (${code}): restore a backup; nothing was repaired`],
    };
  // A broken pipe (`| head`) is no fault.
  if (code === "EPIPE") return { exit: EXITS.ok, lines: [], code, expected: true };
  return {
    exit: EXITS.failure,
    lines: [message || "unexpected error; run again with --debug"],
    code: code ?? "defect",
    expected: false,
  };
};

/** The exit code for a status of the HTTP API. */
export const exitOfStatus = (status: number): Exit => {
  if (status === 401 || status === 403) return EXITS.unauthorized;
  if (status === 404) return EXITS.notFound;
  if (status === 402) return EXITS.credits;
  if (status === 429 || status === 503) return EXITS.tryAgain;
  return status >= 400 && status < 500 ? EXITS.refused : EXITS.failure;
};
