// A generation that has ended, and whose attempt is still asked about, is taken over with all of its steps behind it.
import { expect, test } from "bun:test";
import { openPostgresStore } from "../../src/store/postgres/client.ts";
import { admit, capturedDeed, NOW_MS, openAccount, PRICES, startedDeed, stepDeed, violations } from "../store/scene.ts";
import { postgresReason } from "./binaries.ts";
import { freshDatabase } from "./databases.ts";

test.skipIf(postgresReason !== undefined)(
  "what is watched is taken over, and its steps stay those of who wrote them",
  async () => {
    const { url, drop } = await freshDatabase();
    const first = await openPostgresStore({ url, prepare: true, mode: "test" });
    const deed = await admit(first, await openAccount(first, 5000));
    await first.commit([
      startedDeed(deed),
      stepDeed(deed.seq, 2, { attemptChanges: [{ n: 1, state: "lost", watchUntilMs: NOW_MS + 900_000 }] }),
      startedDeed(deed, 3, 2, "b"),
      capturedDeed(deed.seq, 4, 2, PRICES.b),
    ]);
    await first.close();
    const next = await openPostgresStore({ url, prepare: true, mode: "test" });
    expect(await next.node?.takeOver(10)).toEqual([deed.seq]);
    expect((await next.watchedAttempts(0, 10)).map(({ seq, n }) => [seq, n])).toEqual([[deed.seq, 1]]);
    expect(await violations(next, null)).toEqual([]);
    await next.close();
    await drop();
  },
);
