// Why the admin service cannot do what was asked: one sentence, and what mends it; the command line and the console each tell it in their way.

/** `unwritable`: the data directory or what belongs to it cannot be used; `tryAgain`: the same may be asked again later. */
export type AdminErrorKind = "notFound" | "refused" | "failure" | "usage" | "unwritable" | "tryAgain";

/** A no of the admin service that the operator can put right. */
export class AdminError extends Error {
  override readonly name = "AdminError";
  readonly kind: AdminErrorKind;
  /** What to do, when the sentence does not say it already: mostly a command. */
  readonly fix: string | undefined;
  readonly code: string;

  constructor(kind: AdminErrorKind, message: string, more: { fix?: string; code?: string } = {}) {
    super(message);
    this.kind = kind;
    this.fix = more.fix;
    this.code = more.code ?? "failed";
  }
}
