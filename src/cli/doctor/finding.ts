// Types of a doctor finding: level, message and remedy.

/** `fault`: something does not work, or money is at risk. `warning`: it works but needs the attention of an operator. */
export type Finding = { area: string; level: "ok" | "warning" | "fault"; says: string; fix: string | null };

/** Findings of a database, and its mode and credentials for further checks. */
export type Stored = {
  findings: Finding[];
  lastSeenMs: number | null;
  mode: "test" | "live" | null;
  lineage: string | null;
  providers: Finding[];
};

export const ok = (area: string, says: string): Finding => ({ area, level: "ok", says, fix: null });
export const warning = (area: string, says: string, fix: string): Finding => ({ area, level: "warning", says, fix });
export const fault = (area: string, says: string, fix: string): Finding => ({ area, level: "fault", says, fix });

export const textOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
