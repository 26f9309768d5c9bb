// What the doctor finds: a line of what is so, and for whatever is not as it should be the command or setting that mends it.

/** `fault`: it does not work, or money is at stake. `warning`: it works, and somebody should know. */
export type Finding = { area: string; level: "ok" | "warning" | "fault"; says: string; fix: string | null };

/** What a database tells, and what follows from its mode and keys. */
export type Stored = {
  findings: Finding[];
  lastSeenMs: number | null;
  mode: "test" | "live" | null;
  lineage: string | null;
  market: Finding[];
};

export const ok = (area: string, says: string): Finding => ({ area, level: "ok", says, fix: null });
export const warning = (area: string, says: string, fix: string): Finding => ({ area, level: "warning", says, fix });
export const fault = (area: string, says: string, fix: string): Finding => ({ area, level: "fault", says, fix });

export const textOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
