// How a deed says no about itself alone: its own writes are undone, the rest of the batch goes on.

/** A deed that cannot be carried out; the message is the reason that its outcome gives. */
export class MutationRejected extends Error {}
