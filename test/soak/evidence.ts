// Reads the evidence after a soak: the invariants, the provider's log and the acknowledged generations.
import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Submission } from "../../src/simulator/log.ts";
import { CHECKS } from "../../src/store/sqlite/verify/all.ts";
import { run } from "../../src/torture/crash/processes.ts";
import type { Acknowledged } from "./load.ts";

/** Runs `genrouter verify` as an operator would. */
export const invariantsOf = async (genrouter: readonly string[], dir: string): Promise<{ ok: boolean; reported: string }> => {
  const { code, output: said } = await run([...genrouter, "verify", "--data", dir, "--json"]);
  if (code !== 0) return { ok: false, reported: `verify ended with ${code}: ${said.slice(0, 500)}` };
  const { checks } = JSON.parse(said) as { checks: { ok: boolean }[] };
  return {
    ok: checks.length === CHECKS.length && checks.every(({ ok }) => ok),
    reported: `${checks.filter(({ ok }) => ok).length} of ${checks.length}`,
  };
};

/** References whose request reached the provider twice; only a response that proves that no job was created allows a second. */
export const submittedTwice = (providerLog: string): { submissions: number; twice: string[] } => {
  const byRef = new Map<string, Submission[]>();
  let submissions = 0;
  for (const line of readFileSync(providerLog, "utf8").split("\n")) {
    if (!line.startsWith('{"type":"submission"')) continue;
    const one = JSON.parse(line) as Submission;
    submissions += 1;
    // Some providers receive no reference, so the input identifies a submission: all prompts of a soak differ.
    const ref = JSON.stringify(one.input?.prompt ?? one.input?.text ?? null);
    byRef.set(ref, [...(byRef.get(ref) ?? []), one]);
  }
  const twice = [...byRef].filter(([, lines]) => lines.slice(0, -1).some(({ accepted, answer }) => accepted || answer !== 429));
  return { submissions, twice: twice.map(([ref, lines]) => `${ref} ${lines.map(({ endpoint }) => endpoint).join(" and ")}`) };
};

/** Far more than the next poll after a job's end and the download of its files take. */
const LATE_MS = 60_000;

/** Acknowledged generations that are missing in the database, and those that had not ended a minute after their job. */
export const endsOf = (
  dir: string,
  acknowledged: readonly Acknowledged[],
  nowMs: number,
): { lost: string[]; outlived: string[] } => {
  const db = new Database(join(dir, "genrouter.db"), { readonly: true });
  const rows = db.query<{ id: string; endMs: number | null }, []>("SELECT id, completed_at_ms AS endMs FROM generation").all();
  db.close();
  const ends = new Map(rows.map(({ id, endMs }) => [id, endMs ?? nowMs]));
  const lost: string[] = [];
  const outlived: string[] = [];
  for (const { id, jobEndsAtMs } of acknowledged) {
    const endMs = ends.get(id);
    if (endMs === undefined) lost.push(id);
    else if (endMs > jobEndsAtMs + LATE_MS) outlived.push(`${id} by ${Math.round((endMs - jobEndsAtMs) / 1000)} s`);
  }
  return { lost, outlived };
};

/** Lines of the service's log that report an error. */
export const faultsIn = (logs: string): string[] =>
  logs.split("\n").filter((line) => /"level":"(error|fatal)"/.test(line) || /^\w*Error: /.test(line));
