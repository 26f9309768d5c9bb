// Rejects a malformed generation id before a command opens the store.
import { seqOfGenerationId } from "../domain/ids.ts";
import { CommandError, EXITS } from "./exit-codes.ts";

/** @throws CommandError (not found) if no generation can have this id */
export const requireGenerationId = (id: string): void => {
  if (seqOfGenerationId(id) !== undefined) return;
  throw new CommandError(
    EXITS.notFound,
    `there is no generation ${JSON.stringify(id)}: the id is malformed; expected gen_ and 21 digits or small letters`,
    { code: "not_found" },
  );
};
