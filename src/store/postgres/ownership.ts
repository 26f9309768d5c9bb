// Whose a generation is: the last that claimed it, or who accepted it.

/** The epoch of the owner, in SQL, of a `generation` called so. */
export const ownerOf = (generation: string): string =>
  `coalesce((SELECT c.epoch FROM claim c WHERE c.seq = ${generation}.seq ORDER BY c.n DESC LIMIT 1), ${generation}.hold_epoch)`;
