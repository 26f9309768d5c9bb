// Planted violations of invariants 7 to 12.

import { NOW_MS } from "./fixture.ts";
import { type Plant, plant } from "./violation.ts";
import { CONFIRMING, ENDED, EVENTFUL, FAILED, QUEUED, RUNNING } from "./violations.ts";

/** The erasure of an ended generation. */
const ERASE = `UPDATE generation SET erased_at_ms = 1, input_defaults = '{}' WHERE seq = ${ENDED};
  UPDATE generation_request SET body = '{}', labels = NULL WHERE generation_seq = ${ENDED};
  UPDATE attempt_request SET request = '' WHERE generation_seq = ${ENDED}`;

/** Invariants 7 to 12. */
export const PLANTS_OF_LIFE: readonly Plant[] = [
  ...plant(7, "the reference does not match its attempt, or is not unique", [
    ["a reference that does not match its generation", `UPDATE attempt SET ref = 'x' || ref WHERE generation_seq = ${RUNNING}`],
  ]),
  ...plant(7, "the job belongs to more than one attempt", [
    ["a job that two attempts own", "UPDATE attempt SET job_id = 'same' WHERE attempt_no = 1", 12],
  ]),
  ...plant(7, "the attempt was sent without a stored request or time", [
    ["a job without a stored request", `DELETE FROM attempt_request WHERE generation_seq = ${RUNNING}`],
    ["a job of an attempt that was never sent", `UPDATE attempt SET sent_at_ms = NULL WHERE generation_seq = ${RUNNING}`],
  ]),
  ...plant(7, "the attempt was sent again without a rejection", [
    [
      "a second submission of an attempt",
      `UPDATE generation_event SET event = '{"type":"slotTaken","n":1}' WHERE generation_seq = ${EVENTFUL} AND version = 2`,
    ],
  ]),

  ...plant(8, "the attempt is open although its generation has ended", [
    [
      "an accepted attempt of an ended generation",
      `UPDATE attempt SET state = 'accepted' WHERE generation_seq = ${FAILED} AND attempt_no = 2`,
    ],
    [
      "an unsent attempt of an ended generation",
      `UPDATE attempt SET state = 'intent', job_id = NULL WHERE generation_seq = ${FAILED} AND attempt_no = 2`,
    ],
  ]),
  ...plant(8, "the ended attempt has no end time", [
    [
      "an ended attempt without an end time",
      `UPDATE attempt SET ended_at_ms = NULL WHERE generation_seq = ${FAILED} AND attempt_no = 2`,
    ],
  ]),
  ...plant(8, "an attempt without a purchase has a job", [
    ["a job of an absent attempt", `UPDATE attempt SET state = 'absent' WHERE generation_seq = ${FAILED} AND attempt_no = 1`],
  ]),
  ...plant(8, "the attempt is watched although its result is known", [
    ["a watch over a delivered attempt", `UPDATE attempt SET watch_until_ms = ${NOW_MS} WHERE generation_seq = ${ENDED}`],
  ]),

  ...plant(9, "parked: its hold remains until an operator decides", [
    [
      "a parked generation",
      `UPDATE snapshot SET state = 'running.parked' WHERE generation_seq = ${CONFIRMING};
       UPDATE generation_event SET state_after = 'running.parked' WHERE generation_seq = ${CONFIRMING} AND version = 2`,
    ],
  ]),
  ...plant(9, "the open generation has no deadline", [
    [
      "an open generation without a deadline",
      `UPDATE snapshot SET deadline_kind = NULL, deadline_attempt_no = NULL, deadline_at_ms = NULL WHERE generation_seq = ${RUNNING}`,
    ],
    ["a running generation without a snapshot", `DELETE FROM snapshot WHERE generation_seq = ${RUNNING}`, 10],
  ]),
  ...plant(9, "the deadline is later than the time limit that it enforces", [
    [
      "a deadline later than the time limit of its route",
      `UPDATE snapshot SET deadline_at_ms = deadline_at_ms + 1 WHERE generation_seq = ${RUNNING}`,
    ],
  ]),
  ...plant(9, "the deadline is later than every possible activity", [
    [
      "a deadline beyond every time limit",
      `UPDATE snapshot SET deadline_kind = 'collect', deadline_at_ms = ${NOW_MS * 2} WHERE generation_seq = ${RUNNING}`,
    ],
  ]),
  ...plant(9, "the deadline belongs to an ended or missing generation", [
    [
      "a deadline of an ended generation",
      `INSERT INTO snapshot VALUES (${ENDED}, 1, 'succeeded', 'attempt', 1, ${NOW_MS}, '{}')`,
      10,
    ],
    [
      "a deadline of a missing generation",
      `INSERT INTO snapshot VALUES (7, 1, 'queued', 'slot', 0, ${NOW_MS}, '{}')`,
      10,
      11,
      12,
    ],
  ]),
  ...plant(9, "the deadline is overdue", [
    ["an overdue deadline", `UPDATE snapshot SET deadline_at_ms = ${NOW_MS - 60_000} WHERE generation_seq = ${RUNNING}`],
  ]),
  ...plant(9, "the generation is older than its time limits allow", [
    [
      "a queued generation that is older than its time limits",
      `UPDATE generation SET start_deadline_ms = ${NOW_MS - 9_000_000} WHERE seq = ${QUEUED}`,
    ],
  ]),

  ...plant(10, "the versions of the events have a gap, or the snapshot is not of the last version", [
    ["a gap in the event versions", `DELETE FROM generation_event WHERE generation_seq = ${FAILED} AND version = 2`],
    ["a snapshot of another version", `UPDATE snapshot SET version = 7 WHERE generation_seq = ${RUNNING}`],
    ["a snapshot of an ended generation", `INSERT INTO snapshot VALUES (${ENDED}, 2, 'succeeded', NULL, NULL, NULL, '{}')`],
  ]),
  ...plant(10, "the state of the snapshot differs from its event", [
    [
      "a snapshot with another state than the last event",
      `UPDATE snapshot SET state = 'running.backingOff' WHERE generation_seq = ${RUNNING}`,
    ],
  ]),
  ...plant(10, "the events return to an earlier status, continue after an end, or succeed without running", [
    [
      "events that continue after the end",
      `UPDATE generation_event SET state_after = 'succeeded' WHERE generation_seq = ${FAILED} AND version = 2`,
    ],
    [
      "events that return to queued",
      `UPDATE generation_event SET state_after = 'queued' WHERE generation_seq = ${FAILED} AND version = 2`,
    ],
    [
      "a success without a running state",
      `UPDATE generation_event SET state_after = 'queued' WHERE generation_seq = ${ENDED} AND version = 1`,
    ],
  ]),
  ...plant(10, "the attempts are not numbered from 1, or their routes differ from the count", [
    [
      "attempts that are not numbered from 1",
      `UPDATE attempt SET attempt_no = 5, ref = substr(ref, 1, length(ref) - 1) || '5' WHERE generation_seq = ${CONFIRMING};
       UPDATE attempt_request SET attempt_no = 5 WHERE generation_seq = ${CONFIRMING}`,
      9,
    ],
    ["an attempt count that does not match the routes", `UPDATE generation SET attempts = 3 WHERE seq = ${FAILED}`],
    ["a negative attempt count", `UPDATE generation SET attempts = -1 WHERE seq = ${QUEUED}`],
  ]),
  ...plant(10, "the route of the attempt is not in the plan", [
    ["a route that is not in the plan", `UPDATE attempt SET route_id = 'z' WHERE generation_seq = ${RUNNING}`, 4],
  ]),
  ...plant(10, "more than one attempt is open", [
    ["two open attempts", `UPDATE attempt SET state = 'accepted' WHERE generation_seq = ${FAILED}`, 8],
  ]),
  ...plant(10, "the columns of the generation do not match its status", [
    ["a message after the end", `UPDATE generation SET message = 'Confirming.' WHERE seq = ${ENDED}`],
    ["an error of a succeeded generation", `UPDATE generation SET error = '{}' WHERE seq = ${ENDED}`],
    ["a succeeded generation without an output", `UPDATE generation SET output = NULL WHERE seq = ${ENDED}`],
    ["an end time before the submission", `UPDATE generation SET completed_at_ms = created_at_ms - 1 WHERE seq = ${ENDED}`, 5],
  ]),
  ...plant(10, "the message does not match the state", [
    ["a message while no job is being confirmed", `UPDATE generation SET message = 'Confirming.' WHERE seq = ${RUNNING}`],
    ["no message while a job is being confirmed", `UPDATE generation SET message = NULL WHERE seq = ${CONFIRMING}`],
  ]),

  ...plant(11, "the account of the transfer differs from its generation", [
    [
      "a generation that was moved to another account",
      `UPDATE generation SET account_seq = 2, key_seq = 2 WHERE seq = ${FAILED}`,
      1,
      2,
    ],
  ]),
  ...plant(11, "the API key belongs to another account than the generation", [
    ["a submission with another account's key", `UPDATE generation SET key_seq = 2 WHERE seq = ${QUEUED}`],
  ]),
  ...plant(11, "the row refers to a missing generation", [
    ["events of a missing generation", "INSERT INTO generation_event VALUES (1, 1, 0, 1, 'queued', '{}')", 10, 12],
  ]),
  ...plant(11, "the generation is erased and still has a text", [
    [
      "an erased generation with its request",
      `UPDATE generation SET erased_at_ms = 1, input_defaults = '{}' WHERE seq = ${FAILED}`,
    ],
    ["an erased generation with the request of an attempt", `${ERASE}; UPDATE attempt_request SET request = 'x'`],
    [
      "an erased generation with metadata",
      `${ERASE}; INSERT INTO generation_metadata SELECT account_seq, 'a', 'b', seq FROM generation WHERE seq = ${ENDED}`,
    ],
  ]),
  ...plant(11, "more of an API key is stored than its hash and prefix", [
    ["an API key that is stored in full", "UPDATE api_key SET prefix = 'gr_test_' || hash WHERE seq = 1"],
  ]),

  ...plant(12, "the row refers to a missing row", [
    [
      "a key of a missing account",
      `INSERT INTO api_key SELECT 9, 'key_9', 77, scope, name, '${"9".padStart(64, "0")}', prefix, created_at_ms, 1, kind FROM api_key WHERE seq = 2`,
    ],
  ]),
  ...plant(12, "the journal mode is not WAL", [["a rollback journal instead of a log", "PRAGMA journal_mode = delete"]]),
  ...plant(12, "the schema differs from its version: an object is missing, changed or foreign", [
    ["an unknown table", "CREATE TABLE stranger (x)"],
  ]),
  ...plant(12, "the row has an epoch that never opened the database", [
    [
      "a transfer of an epoch that never opened the database",
      "UPDATE transfer SET epoch = 9 WHERE seq = (SELECT max(seq) FROM transfer)",
    ],
  ]),
  ...plant(12, "an epoch wrote after its successor", [
    [
      "a transfer that an epoch wrote after its successor",
      "UPDATE transfer SET epoch = 1 WHERE seq = (SELECT max(seq) FROM transfer)",
    ],
    [
      "an event that an epoch wrote after its successor",
      `UPDATE generation_event SET epoch = 2 WHERE generation_seq = ${FAILED} AND version = 2`,
    ],
  ]),
  ...plant(12, "the epochs are not consecutive", [
    ["a missing epoch", "DELETE FROM writer_epoch WHERE epoch = 1"],
    ["no epochs at all", "DELETE FROM writer_epoch"],
  ]),
];
