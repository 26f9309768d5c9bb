// Owner of a generation: the last takeover, else the node that accepted it.

/** SQL expression for the epoch of the owner of a `generation` alias. */
export const ownerOf = (generation: string): string =>
  `coalesce((SELECT c.epoch FROM ownership_change c WHERE c.generation_seq = ${generation}.seq ORDER BY c.change_no DESC LIMIT 1), ${generation}.hold_epoch)`;
