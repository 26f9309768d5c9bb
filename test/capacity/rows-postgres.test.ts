// Compares the capacity calculator with the service over PostgreSQL: rows, bytes and mutations of generations.
import { setDefaultTimeout, test } from "bun:test";
import { postgresReason } from "../postgres/binaries.ts";
import { openPostgresBed } from "./postgres-fixture.ts";
import { expectRowsAsMeasured, hasProcessorTimes } from "./rows.ts";

setDefaultTimeout(240_000);

test.skipIf(!hasProcessorTimes || postgresReason !== undefined)(
  "postgres: the service writes the rows, bytes and mutations of the recorded measurement (otherwise run `npm run costs`)",
  () => expectRowsAsMeasured("postgres", openPostgresBed),
);
