// How a mutation says no about itself alone: its own writes are undone, the rest of the batch goes on.

/** A mutation that cannot be carried out; the message is the reason that its outcome gives. */
export class MutationRejected extends Error {}
