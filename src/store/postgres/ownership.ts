// Owner of a generation: the last takeover, else the node that accepted it.

/** SQL expression for the epoch of the owner of a `generation` alias. */
export const ownerOf = (generation: string): string =>
  `coalesce((SELECT c.epoch FROM claim c WHERE c.seq = ${generation}.seq ORDER BY c.n DESC LIMIT 1), ${generation}.hold_epoch)`;
