// A planted violation: the SQL that breaks one clause of an invariant, and the fault that verify reports.

/** `also`: invariants that the same rows unavoidably break as well. */
export type Plant = { invariant: number; fault: string; what: string; sql: string; also?: number[] };

export const plant = (
  invariant: number,
  fault: string,
  rows: readonly (readonly [what: string, sql: string, ...also: number[]])[],
): Plant[] => rows.map(([what, sql, ...also]) => ({ invariant, fault, what, sql, also }));
