// Why a database cannot be opened, whatever it is: each fault is one line that says what is wrong and what to do.

/** It was made for the simulator and is opened for money, or the other way round. */
export class WrongMode extends Error {
  override readonly name = "WrongMode";
}
/** It was written by a newer release, or a migration is not the one that was run. */
export class WrongSchema extends Error {
  override readonly name = "WrongSchema";
}
/** Its server is too old, or keeps texts in a way that loses some of them. */
export class ServerUnfit extends Error {
  override readonly name = "ServerUnfit";
}
/** What it held is in another database, or is still on its way from or to one. */
export class StoreMigrated extends Error {
  override readonly name = "Moved";
}
/** The database cannot be reached, or lets this user do too little. */
export class DatabaseUnavailable extends Error {
  override readonly name = "DatabaseUnavailable";
  /** It will not come back by itself: the server refuses this user, or there is no such database. */
  readonly isRefusal: boolean;
  constructor(message: string, { isRefusal = false, ...options }: ErrorOptions & { isRefusal?: boolean } = {}) {
    super(message, options);
    this.isRefusal = isRefusal;
  }
}
/** It answers, and nothing of a service is in it yet. */
export class DatabaseEmpty extends DatabaseUnavailable {}
