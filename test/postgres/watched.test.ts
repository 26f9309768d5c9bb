// Watched attempts and callback hints of ended generations pass to another node when their node closes.
import { expect, test } from "bun:test";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
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
