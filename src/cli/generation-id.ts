// Rejects a malformed generation id before a command opens the store.
import { seqOfGenerationId } from "../domain/ids.ts";
import { CommandFault, EXITS } from "./exit-codes.ts";

/** @throws CommandFault (not found) if no generation can have this id */
export const insistOnGenerationId = (id: string): void => {
  if (seqOfGenerationId(id) !== undefined) return;
  throw new CommandFault(
    EXITS.notFound,
    `there is no generation ${JSON.stringify(id)}: the id is malformed; expected gen_ and 21 digits or small letters`,
    { code: "not_found" },
  );
};
