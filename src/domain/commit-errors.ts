// Errors of a commit: nothing was written, or the outcome is unknown.

/** The disk is full: the whole batch was rolled back, nothing was written, and a retry is safe. */
export class StoreFull extends Error {}
/**
 * The outcome of the commit is unknown: no poster receives a result, and the process exits. Recovery then reads the stored rows.
 */
export class StoreUnknown extends Error {}
