// verify over PostgreSQL finds the violations that it finds over SQLite, and those that only PostgreSQL can have.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { type Connection, connect } from "../../src/store/postgres/connections.ts";
import { CHECKS, verifyOn } from "../../src/store/postgres/verify.ts";
import { makeWorldOver } from "../store/every-row-fixture.ts";
import { admit, capturedMutation, NOW_MS, openAccount, PRICES, startedMutation } from "../store/fixture.ts";
import { type Plant, plant } from "../store/violation.ts";
import { ENDED, FAILED, PLANTS_OF_MONEY, QUEUED } from "../store/violations.ts";
import { PLANTS_OF_DELIVERIES } from "../store/violations-deliveries.ts";
import { PLANTS_OF_LIFE } from "../store/violations-lifecycle.ts";
import { freshDatabase, onPostgres } from "./databases.ts";
import { openServer } from "./server.ts";

/** Disables triggers and foreign keys, as an attacker with access to the database would. */
const HARM = "SET LOCAL session_replication_role = replica;";
/** Drops the constraints that a plant may violate, which are all but the primary keys, and adds defaults for numbered columns. */
const LOOSEN = `DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT conrelid::regclass AS place, conname FROM pg_constraint
    WHERE contype IN ('c', 'u', 'f') AND connamespace = 'public'::regnamespace ORDER BY contype = 'u'
  LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I CASCADE', one.place, one.conname); END LOOP;
  FOR one IN SELECT indexrelid::regclass AS place FROM pg_index JOIN pg_class c ON c.oid = indexrelid
    WHERE indisunique AND NOT indisprimary AND relnamespace = 'public'::regnamespace
  LOOP EXECUTE format('DROP INDEX %s', one.place); END LOOP;
END $$;
CREATE SEQUENCE posted START 9007199254740000;
ALTER TABLE transfer ALTER seq SET DEFAULT nextval('posted');
ALTER TABLE plan ALTER hash SET DEFAULT '';`;

/** The clauses of invariant 12 about the file apply to SQLite only. */
const SHARED = [...PLANTS_OF_MONEY, ...PLANTS_OF_LIFE, ...PLANTS_OF_DELIVERIES].filter(({ invariant }) => invariant !== 12);
const UNSAFE = "commits are confirmed before they reach the disk";
/** The second node took over the generations of the first one, and ended one of them. */
const CLAIMED =
  "(SELECT j.generation_seq FROM generation_event j JOIN ownership_change c ON c.generation_seq = j.generation_seq AND c.epoch = j.epoch)";
const OWN: readonly Plant[] = [
  ...plant(12, "the event was written by a node that did not own the generation", [
    [
      "a step by a node that did not take the generation over",
      `UPDATE generation_event SET epoch = 1 WHERE generation_seq = ${CLAIMED} AND version = 2`,
    ],
    [
      "a first step by a node that did not admit the generation",
      `UPDATE generation_event SET epoch = 2 WHERE generation_seq = ${CLAIMED} AND version = 1`,
    ],
    ["a step of an unknown epoch", `UPDATE generation_event SET epoch = 9 WHERE generation_seq = ${FAILED} AND version = 2`],
  ]),
  ...plant(12, "the settlement was not written with the last event", [
    ["a settlement by another node than the last event", `UPDATE transfer SET epoch = 2 WHERE generation_seq = ${FAILED}`],
  ]),
  ...plant(12, "an ownership change does not follow its predecessor, or the former node had not ended", [
    ["an ownership change without its predecessor", `UPDATE ownership_change SET change_no = 2 WHERE generation_seq = ${QUEUED}`],
    [
      "an ownership change that precedes the end of the former node",
      `UPDATE ownership_change SET at_ms = 1 WHERE generation_seq = ${QUEUED}`,
    ],
    ["an ownership change of a generation of another node", `INSERT INTO ownership_change VALUES (${ENDED}, 1, 3, 2, 0)`],
  ]),
  ...plant(12, "an open node has no lease, or an ended node has one", [
    ["an open node without a lease", "UPDATE node SET ended_at_ms = NULL WHERE epoch = 2"],
    ["a lease of an ended node", "INSERT INTO lease VALUES (2, 1)"],
  ]),
  ...plant(12, "a trigger or index is missing or disabled, or a constraint was never validated", [
    ["a disabled trigger", "ALTER TABLE transfer DISABLE TRIGGER transfer_immutable"],
    ["disabled triggers", "ALTER TABLE balance DISABLE TRIGGER ALL"],
    ["a missing trigger", "DROP TRIGGER balance_follows_transfer ON balance"],
    ["a missing index", "DROP INDEX transfer_settlement_once"],
    [
      "a constraint that was added without validation",
      `ALTER TABLE attempt DROP CONSTRAINT attempt_price_credits_check;
       ALTER TABLE attempt ADD CONSTRAINT attempt_price_credits_check CHECK (price_credits > 0) NOT VALID`,
    ],
  ]),
  ...plant(12, "the row has an epoch that never opened the database", [
    ["a top-up of an unknown epoch", "UPDATE transfer SET epoch = 9 WHERE kind = 'topup' AND account_seq = 1"],
  ]),
];

onPostgres("verify finds", () => {
  let line: Connection;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const { url } = await freshDatabase();
    const address = { url, prepare: true };
    const open = () => openPostgresStore({ ...address, mode: "test", readers: 1, nowMs: NOW_MS });
    await makeWorldOver(open);
    const [first, second] = [await open(), await open()];
    const left = await admit(first, await openAccount(first, 500));
    await first.commit([startedMutation(left)]);
    await first.close();
    await second.node?.takeOver(100);
    await second.commit([capturedMutation(left.seq, 2, 1, PRICES.a)]);
    await second.close();
    line = await connect(address);
    close = async () => line.close();
  });
  beforeEach(() => line.script("BEGIN"));
  afterEach(() => line.script("ROLLBACK"));
  afterAll(() => close());

  const brokenBy = async (...scripts: string[]) => {
    for (const script of scripts) await line.script(script);
    await line.script("SET LOCAL session_replication_role = origin");
    return (await verifyOn(line, NOW_MS + 5000)).filter(({ ok }) => !ok);
  };

  test("nothing in a complete fixture", async () => {
    expect(await brokenBy()).toEqual([]);
  });

  test.each(SHARED)("$invariant: $what", async ({ invariant, fault, sql, also = [] }) => {
    const broken = (await brokenBy(LOOSEN, HARM, sql)).filter((result) => result.invariant !== 12);
    expect(broken.flatMap(({ offending }) => offending.map((row) => row.fault))).toContain(fault);
    expect(broken.map((result) => result.invariant)).toEqual(
      [invariant, ...also].filter((one) => one !== 12).sort((a, b) => a - b),
    );
  });

  test.each(OWN)("$invariant: $what", async ({ invariant, fault, sql, also = [] }) => {
    const broken = await brokenBy(HARM, sql);
    const found = broken.find((result) => result.invariant === invariant);
    expect(found?.offending.map((row) => row.fault)).toContain(fault);
    expect(broken.map((result) => result.invariant)).toEqual([invariant, ...also].sort((a, b) => a - b));
  });

  test("12: a server with fsync off", async () => {
    const server = await openServer({ fsync: "off" });
    const store = await openPostgresStore({ url: server.url("postgres"), prepare: true, mode: "test", readers: 1 });
    const broken = (await store.verify(null)).filter(({ ok }) => !ok);
    expect(broken.flatMap(({ offending }) => offending)).toEqual([{ fault: UNSAFE, name: "fsync", setting: "off" }]);
    await store.close();
    await server.stop();
  });

  test("a planted violation of every clause", () => {
    const planted = new Set([...[...SHARED, ...OWN].map(({ fault }) => fault), UNSAFE]);
    const faulty = CHECKS.flatMap(({ clauses }) => clauses.filter(({ isNote }) => !isNote));
    const clauses = faulty.flatMap(({ faults }) => faults);
    expect(clauses.filter((fault) => !planted.has(fault))).toEqual([]);
  });
});
