// After a power cut: checks that the disk holds everything that was acknowledged.
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { StoredFile } from "../../src/domain/types.ts";
import { pathOfFile } from "../../src/files/local.ts";
import type { Submission } from "../../src/simulator/log.ts";
import type { StoreReads } from "../../src/store/store.ts";
import type { ClientLine } from "../../src/torture/crash/client-log.ts";
import { reading, type Tenant } from "../../src/torture/crash/crash-fixture.ts";
import { attemptOf } from "../../src/torture/crash/read-store.ts";
import { originOf } from "../../src/torture/crash/workload.ts";

/** Faults as sentences; all lists are empty if nothing is missing. */
export type Missing = { acknowledged: string[]; ends: string[]; journal: string[]; files: string[]; invariants: string[] };

/** What clients and providers received since the last check. */
export type Acknowledged = { client: readonly ClientLine[]; submissions: readonly Submission[] };

/** Why a stored file is missing or changed; undefined if it is intact. */
const fileFault = (dir: string, id: string, { n, sha256 }: StoredFile): string | undefined => {
  const path = join(dir, "files", pathOfFile(id, n));
  if (!existsSync(path)) return `${id}: file ${n} is missing`;
  const found = createHash("sha256").update(readFileSync(path)).digest("hex");
  return found === sha256 ? undefined : `${id}: file ${n} has changed`;
};

/** Files that were intact are not checked again, because a cut does not change them later. */
export const openLook = (dir: string, tenants: readonly Tenant[]) => {
  const whole = new Set<string>();

  const lookAtFiles = async (reads: StoreReads, ids: Iterable<string>, missing: Missing): Promise<number> => {
    let files = 0;
    for (const id of ids) {
      const record = whole.has(id) ? undefined : await reads.findGeneration(id);
      if (record?.status !== "succeeded") continue;
      whole.add(id);
      for (const file of record.output?.files ?? []) {
        files += 1;
        const fault = fileFault(dir, id, file);
        if (fault) missing.files.push(fault);
      }
    }
    return files;
  };

  /** @param reported All acknowledgements from the beginning, which every check compares with the disk again. */
  return (reported: Acknowledged): Promise<Missing & { checked: { acknowledged: number; submissions: number; files: number } }> =>
    reading(dir, async (reads) => {
      const missing: Missing = { acknowledged: [], ends: [], journal: [], files: [], invariants: [] };
      const ids = new Set(reported.client.flatMap((line) => (line.type === "ack" && line.id !== null ? [line.id] : [])));
      for (const id of ids) if (!(await reads.findGeneration(id))) missing.acknowledged.push(`${id}: acknowledged, not on disk`);
      for (const line of reported.client)
        if (line.type === "seen" && (await reads.findGeneration(line.id))?.status !== line.resource.status)
          missing.ends.push(`${line.id}: seen ${line.resource.status}, on disk ${(await reads.findGeneration(line.id))?.status}`);
      for (const line of reported.submissions) {
        const origin = originOf(line.input);
        const known = origin && (await reads.generationByKey(tenants[origin.account]?.accountSeq ?? -1, origin.key));
        const attempt = known && attemptOf(await reads.attemptsOf(known.record.seq), line);
        if (!attempt || attempt.sentAtMs === null)
          missing.journal.push(`${JSON.stringify(origin)}: the provider has it, but no request is stored`);
      }
      const files = await lookAtFiles(reads, ids, missing);
      for (const { ok, invariant, name, offending } of await reads.verify(null))
        if (!ok) missing.invariants.push(`${invariant} ${name}: ${JSON.stringify(offending).slice(0, 300)}`);
      return { ...missing, checked: { acknowledged: ids.size, submissions: reported.submissions.length, files } };
    });
};
