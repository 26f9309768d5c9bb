// Error of the admin service: one sentence and its remedy.
//
// The command line and the console format it differently.

/** `unwritable`: the data directory or one of its files cannot be used. `tryAgain`: the same request may succeed later. */
export type AdminErrorKind = "notFound" | "refused" | "failure" | "usage" | "unwritable" | "tryAgain";

/** A rejection by the admin service that the operator can resolve. */
export class AdminError extends Error {
  override readonly name = "AdminError";
  readonly kind: AdminErrorKind;
  /** The remedy, usually a command; absent if the message already contains it. */
  readonly fix: string | undefined;
  readonly code: string;

  constructor(kind: AdminErrorKind, message: string, more: { fix?: string; code?: string } = {}) {
    super(message);
    this.kind = kind;
    this.fix = more.fix;
    this.code = more.code ?? "failed";
  }
}
