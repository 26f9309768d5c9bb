// Report of the schema migrations that a start applied, for the log.

/** `copy`: the path of the copy that was made before the migration, or null. */
export type Migrated = { from: number; to: number; copy: string | null };
