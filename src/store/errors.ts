// Errors of opening a database: each is one line with the cause and the remedy.

/** The database was created for the simulator and is opened for live providers, or the reverse. */
export class WrongMode extends Error {
  override readonly name = "WrongMode";
}
/** The database was written by a newer release, or a migration differs from the one that ran. */
export class WrongSchema extends Error {
  override readonly name = "WrongSchema";
}
/** The server is too old, or its text encoding loses characters. */
export class ServerUnfit extends Error {
  override readonly name = "ServerUnfit";
}
/** The data is in another database, or a migration is incomplete. */
export class StoreMigrated extends Error {
  override readonly name = "Moved";
}
/** The database is unreachable, or the user lacks a permission. */
export class DatabaseUnavailable extends Error {
  override readonly name = "DatabaseUnavailable";
  /** The error is permanent: the server rejects this user, or the database does not exist. */
  readonly isRejected: boolean;
  constructor(message: string, { isRejected = false, ...options }: ErrorOptions & { isRejected?: boolean } = {}) {
    super(message, options);
    this.isRejected = isRejected;
  }
}
/** The database answers and contains no service data yet. */
export class DatabaseEmpty extends DatabaseUnavailable {}
