// Watched attempts and callback hints of ended generations pass to another node when their node closes.
import { expect, test } from "bun:test";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { connect } from "../../src/store/postgres/connections.ts";
import {
  admit,
  capturedMutation,
  NOW_MS,
  openAccount,
  PRICES,
  startedMutation,
  stepMutation,
  violations,
} from "../store/fixture.ts";
import { postgresReason } from "./binaries.ts";
import { freshDatabase } from "./databases.ts";

test.skipIf(postgresReason !== undefined)(
  "a takeover includes ended generations with watched attempts, and their events keep their epochs",
  async () => {
    const { url, drop } = await freshDatabase();
    const first = await openPostgresStore({ url, prepare: true, mode: "test" });
    const mutation = await admit(first, await openAccount(first, 5000));
    await first.commit([
      startedMutation(mutation),
      stepMutation(mutation.seq, 2, { attemptChanges: [{ n: 1, state: "lost", watchUntilMs: NOW_MS + 900_000 }] }),
      startedMutation(mutation, 3, 2, "b"),
      capturedMutation(mutation.seq, 4, 2, PRICES.b),
    ]);
    await first.close();
    const next = await openPostgresStore({ url, prepare: true, mode: "test" });
    expect(await next.node?.takeOver(10)).toEqual([mutation.seq]);
    expect((await next.watchedAttempts(0, 10)).map(({ seq, n }) => [seq, n])).toEqual([[mutation.seq, 1]]);
    expect(await violations(next, null)).toEqual([]);
    await next.close();
    await drop();
  },
);

test.skipIf(postgresReason !== undefined)(
  "callback hints of an ended generation are read by another node after their node has closed",
  async () => {
    const { url, drop } = await freshDatabase();
    const [owner, other] = [
      await openPostgresStore({ url, prepare: true, mode: "test" }),
      await openPostgresStore({ url, prepare: true, mode: "test" }),
    ];
    const mutation = await admit(owner, await openAccount(owner, 5000));
    const open = await admit(owner, await openAccount(owner, 5000));
    await owner.commit([startedMutation(mutation), capturedMutation(mutation.seq, 2, 1, PRICES.a)]);
    const left = [
      { seq: mutation.seq, n: -1, body: '{"type":"accepted"}' },
      { seq: mutation.seq, n: 1, body: null },
      { seq: open.seq, n: -1, body: '{"type":"accepted"}' },
    ];
    for (const hint of left) await other.node?.leaveHint(hint);
    expect(await other.node?.hints()).toEqual([]);
    expect((await owner.node?.hints())?.length).toBe(3);
    expect(await other.node?.events()).toEqual([]);
    expect(await owner.node?.events()).toEqual(left.slice(2));
    expect(await owner.node?.events([open.seq])).toEqual(left.slice(2));
    expect(await owner.node?.events([mutation.seq])).toEqual([]);
    await owner.close();
    // A hint without a body is dropped after the end of its node, and hints of open generations wait for their takeover.
    expect(await other.node?.hints()).toEqual(left.slice(0, 1));
    expect(await other.node?.takeOver(10)).toEqual([open.seq]);
    expect((await other.node?.hints())?.map(({ seq, n }) => [seq, n])).toEqual([
      [mutation.seq, -1],
      [open.seq, -1],
    ]);
    await other.close();
    await drop();
  },
);

test.skipIf(postgresReason !== undefined)(
  "a callback is kept for ten minutes, an event until its generation has ended for ten minutes",
  async () => {
    const { url, drop } = await freshDatabase();
    const owner = await openPostgresStore({ url, prepare: true, mode: "test" });
    const ended = await admit(owner, await openAccount(owner, 5000));
    const open = await admit(owner, await openAccount(owner, 5000));
    await owner.commit([startedMutation(ended), capturedMutation(ended.seq, 2, 1, PRICES.a)]);
    for (const { seq } of [ended, open])
      for (const n of [-1, 1]) await owner.node?.leaveHint({ seq, n, body: '{"type":"accepted"}' });
    const line = await connect({ url, prepare: true });
    await line.send("UPDATE callback_inbox SET at_ms = now_ms() - 600001");
    const found = async () => (await owner.node?.hints())?.map(({ seq, n }) => [seq, n]).sort();
    // The guards of the table forbid another time of an end.
    const endedAgo = (ms: number) =>
      line.script(`SET session_replication_role = replica; UPDATE generation SET completed_at_ms = now_ms() - ${ms}
        WHERE completed_at_ms IS NOT NULL; RESET session_replication_role`);
    await endedAgo(590_000);
    expect(await found()).toEqual([
      [ended.seq, -1],
      [open.seq, -1],
    ]);
    await endedAgo(600_001);
    expect(await found()).toEqual([[open.seq, -1]]);
    line.close();
    await owner.close();
    await drop();
  },
);
