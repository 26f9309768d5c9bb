// Removes the row versions that erasures leave. PostgreSQL writes a new version of a changed row and keeps the former one until VACUUM.
//
// VACUUM frees the space of former versions, and later rows overwrite it. Until then their bytes stay in unused parts of pages, where
// no statement reads them (docs/decisions/0021).
import { clientAddress } from "../../config/database-url.ts";
import { type Address, connect } from "./connections.ts";

/** The tables that an erasure changes, and `snapshot`, whose rows repeat texts while a generation runs. */
const ERASED_TABLES = [
  "generation",
  "generation_event",
  "generation_metadata",
  "attempt",
  "attempt_request",
  "snapshot",
  "pinned_input",
  "input_file",
  "callback_inbox",
  "webhook_try",
  "end_user",
  "end_user_name",
] as const;
/** The pauses of autovacuum, so that reads and commits are not delayed. */
const PAUSES = "SET vacuum_cost_delay = '2ms'";
// The planner keeps samples of columns, which ANALYZE replaces. A table that autovacuum processes at the moment needs no second pass.
const VACUUM = `VACUUM (ANALYZE, SKIP_LOCKED) ${ERASED_TABLES.join(", ")}`;
// Without the right to it, the server only warns.
const VACUUM_SAMPLES = "VACUUM (SKIP_LOCKED) pg_statistic";

/** It has a connection of its own, because it takes minutes in a large database. */
export const vacuumErased = async (address: Address): Promise<void> => {
  const line = await connect(address);
  try {
    // A pooler would leave the setting to the next client of the connection.
    if (address.prepare && !clientAddress(address.url).isPooled) await line.send(PAUSES);
    await line.send(VACUUM);
    await line.send(VACUUM_SAMPLES);
  } finally {
    line.close();
  }
};
