// Times how long SQLite reads the rows of all generations in flight: `bun read-rows.ts FILE`; prints ms and row count.
import { Database } from "bun:sqlite";

/** The columns that a recovery reads: the generation, its snapshot and its deadline. */
const READ = `SELECT g.seq, g.id, g.account_seq, g.status, g.created_at_ms, g.start_deadline_ms, g.plan_seq, s.version, s.snapshot, s.deadline_kind,
    s.deadline_attempt_no, s.deadline_at_ms
  FROM generation g INDEXED BY generation_open LEFT JOIN snapshot s ON s.generation_seq = g.seq
  WHERE g.completed_at_ms IS NULL ORDER BY g.seq`;

const fromMono = performance.now();
const db = new Database(process.argv[2] ?? "", { readonly: true });
let rows = 0;
for (const _ of db.query(READ).iterate()) rows += 1;
const ms = performance.now() - fromMono;
db.close();
process.stdout.write(`read ${ms.toFixed(1)} ${rows}\n`);
