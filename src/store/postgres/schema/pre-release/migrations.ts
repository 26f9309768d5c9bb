// The schema migrations of builds before the first release, by which their databases are known and completed.
import step1 from "./0001.sql" with { type: "text" };
import step2 from "./0002.sql" with { type: "text" };
import step3 from "./0003.sql" with { type: "text" };
import step4 from "./0004.sql" with { type: "text" };
import step5 from "./0005.sql" with { type: "text" };
import step6 from "./0006.sql" with { type: "text" };
import step7 from "./0007.sql" with { type: "text" };

/** Unchanged since they ran: their checksums are in every database. */
export const PRE_RELEASE_MIGRATIONS = [step1, step2, step3, step4, step5, step6, step7].map((sql, at) => ({
  version: at + 1,
  sql,
}));
export const PRE_RELEASE_VERSION = PRE_RELEASE_MIGRATIONS.length;
