// Deletes a generation: DELETE /v1/generations/{id}.
import type { Erase, OlderBackup } from "../../generations/erase.ts";
import type { AuthenticatedHandler } from "../auth.ts";
import { addLogContext } from "../request-log-context.ts";
import { answerJson } from "../response.ts";

const iso = (ms: number): string => new Date(ms).toISOString();
const dayOf = (ms: number): string => iso(ms).slice(0, "2026-10-19".length);

const backupObject = ({ name, takenAtMs, expiresAtMs }: OlderBackup) => ({
  name,
  taken_at: iso(takenAtMs),
  expires_on: expiresAtMs === null ? null : dayOf(expiresAtMs),
});

/** 200, also if it was deleted before. */
export const deletion =
  (erase: Erase): AuthenticatedHandler =>
  async (request, requestId, caller, params) => {
    const { id, erasedAtMs, backups } = await erase(params.id ?? "", caller);
    addLogContext(request, { generation_id: id });
    const body = { id, object: "generation", deleted: true, erased_at: iso(erasedAtMs), backups: backups.map(backupObject) };
    return answerJson(200, JSON.stringify(body), requestId);
  };
