// The error of one rejected mutation: its writes are undone, the rest of the batch continues.

/** A rejected mutation; the message is the reason in its result. */
export class MutationRejected extends Error {}
