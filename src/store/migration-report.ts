// What a start did to the schema of an existing database, as the log tells it.

/** `copy`: the path of the copy that was made before, where one is. */
export type Migrated = { from: number; to: number; copy: string | null };
