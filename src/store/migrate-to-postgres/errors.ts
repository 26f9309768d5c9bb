// Errors of a store migration: each is one line with cause and remedy.
//
// No message contains a password.
import { faultText, isFull, isLost, stateOf } from "../postgres/errors.ts";

/**
 * `refused`: the database contains other data. `unreachable`: no server answers. `unauthorized`: the server rejects the user.
 * `not_found`: the database does not exist. `no_room`: its disk is full. `not_whole`: the arrived rows differ from the sent rows.
 * `bad_address`: not an address.
 */
export type MigrationErrorKind =
  | "refused"
  | "unreachable"
  | "unauthorized"
  | "not_found"
  | "no_room"
  | "not_whole"
  | "bad_address";

export class MigrationError extends Error {
  override readonly name = "MigrationError";
  readonly kind: MigrationErrorKind;

  constructor(kind: MigrationErrorKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The address of a database without its password. @throws MigrationError `bad_address` */
export const shownAddress = (url: string): string => {
  const bad = () =>
    new MigrationError(
      "bad_address",
      "the address of the database is invalid; expected a postgres:// address, for example postgres://user@host:5432/genrouter",
    );
  if (!URL.canParse(url)) throw bad();
  const { protocol, username, hostname, port, pathname } = new URL(url);
  if (!/^postgres(ql)?:$/.test(protocol) || hostname === "" || pathname.length < 2) throw bad();
  return `postgres://${username === "" ? "" : `${username}@`}${hostname}${port === "" ? "" : `:${port}`}${pathname}`;
};

const AGAIN = "run the same command to resume";

/** Converts an error of the target database; other errors are returned unchanged. */
export const asMigrationError = (fault: unknown, shown: string): unknown => {
  if (fault instanceof MigrationError) return fault;
  const state = stateOf(fault);
  const text = faultText(fault);
  const user = /\/\/([^@/]+)@/.exec(shown)?.[1] ?? "the user";
  if (/^28/.test(state))
    return new MigrationError(
      "unauthorized",
      `${shown} rejects the login of ${user}: ${text}; check the name and the password in the address`,
    );
  if (state === "3D000")
    return new MigrationError(
      "not_found",
      `${shown}: ${text}; create it first, for example: createdb ${shown.split("/").at(-1)}`,
    );
  if (state === "42501")
    return new MigrationError(
      "unauthorized",
      `${shown}: ${text}; ${user} has to own the database, or needs: GRANT CREATE, USAGE ON SCHEMA public TO ${user}`,
    );
  if (isFull(fault) || state === "53100")
    return new MigrationError("no_room", `${shown} has no free space: ${text}; free space, then ${AGAIN}`);
  if (isLost(fault))
    return new MigrationError("unreachable", `${shown} does not respond: ${text}; check the server, then ${AGAIN}`);
  if (state !== "")
    return new MigrationError("refused", `${shown} rejects the migration: ${text}; correct the cause, then ${AGAIN}`);
  return fault;
};
