// Error of one rejected mutation: its writes are undone, and the batch continues.

/** A rejected mutation; the message is the reason in its result. */
export class MutationRejected extends Error {}
