// A short crash program: a kill at every named point, a few random kills under load, and an audit that can fail.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Submission } from "../../src/simulator/log.ts";
import { auditAll, type Evidence } from "../../src/torture/crash/audit.ts";
import { type SimulatorProcess, startSimulator } from "../../src/torture/crash/crash-fixture.ts";
import { freePort } from "../../src/torture/crash/processes.ts";
import { type RandomEnd, runRandom } from "../../src/torture/crash/random.ts";
import type { Stored } from "../../src/torture/crash/read-store.ts";
import type { ReceivedWebhook } from "../../src/torture/crash/webhook-log.ts";
import { PROGRAM } from "../built.ts";
import { casesOfShare } from "../case-share.ts";
import { dropScratch } from "../scratch.ts";
import { type PointWorld, playBirth, playInsideSettlement, playPoint, playUpgrade } from "./point-run.ts";
import { POINTS, SETTLEMENTS } from "./points.ts";

const SPEED = 5000;
/** The time limits for one point and for all of them, because points wait for their turn. */
const POINT_MS = 60_000;
const ALL_MS = 280_000;
const RANDOM_MS = 90_000;
const dir = mkdtempSync(join(tmpdir(), "crash-tests-"));
let simulator: SimulatorProcess;

/** Two at a time: each point needs three processes, and the test machine may have two cores. */
const places = [Promise.resolve(), Promise.resolve()];
const inTurn = (play: (world: PointWorld) => Promise<unknown>) => async () => {
  const before = places.shift() ?? Promise.resolve();
  const done = Promise.withResolvers<void>();
  places.push(done.promise);
  await before;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`it took more than ${POINT_MS / 1000} s`)), POINT_MS);
  try {
    await Promise.race([play({ simulator, speed: SPEED, genrouter: PROGRAM }), late.promise]);
  } finally {
    clearTimeout(timer);
    done.resolve();
  }
};

beforeAll(async () => {
  simulator = await startSimulator(PROGRAM, { port: await freePort(), speed: SPEED, log: join(dir, "simulator.log") });
});
afterAll(async () => {
  simulator.child.kill("SIGKILL");
  await simulator.child.ended;
  dropScratch(dir);
});

describe("killed", () => {
  for (const point of casesOfShare("points of a crash", POINTS, ({ name }) => name))
    test.concurrent(
      point.name,
      inTurn((world) => playPoint(world, point)),
      ALL_MS,
    );
  for (const settlement of SETTLEMENTS)
    test.concurrent(
      settlement.name,
      inTurn((world) => playInsideSettlement(world, settlement)),
      ALL_MS,
    );
  test.concurrent("during the migration of a new directory: the next start completes it", inTurn(playBirth), ALL_MS);
  test.concurrent(
    "during the migration of a directory in use: the old release continues, and the next release completes it",
    inTurn(playUpgrade),
    ALL_MS,
  );
});

describe("after random kills under load", () => {
  const seed = Date.now() % 1_000_000;
  let end: RandomEnd;
  beforeAll(async () => {
    const say = (line: string) => process.stdout.write(`  seed ${seed}: ${line}\n`);
    end = await runRandom({ dir: join(dir, "random"), cycles: 5, seed, workers: 16, genrouter: PROGRAM, report: say });
  }, RANDOM_MS);

  test("client log, provider log and store agree", () => {
    expect(end.checks.filter(({ faults }) => faults.length > 0)).toEqual([]);
    expect(end.checks.length).toBeGreaterThanOrEqual(25);
    expect(end.figures.acknowledged).toBeGreaterThan(50);
  });

  /** Each case changes the evidence as a fault of the service would; `broken` is the audit that must fail. */
  const TAMPERINGS: readonly { what: string; broken: RegExp; tamper: (evidence: Evidence) => Evidence }[] = [
    {
      what: "an acknowledged generation that is missing",
      broken: /^every acknowledged generation exists/,
      tamper: (evidence) => ({ ...evidence, stored: evidence.stored.slice(1) }),
    },
    {
      what: "a second generation for a key",
      broken: /^all responses to an idempotency key/,
      tamper: (evidence) => ({ ...evidence, stored: [...evidence.stored, { ...first(evidence), id: "gen_another" }] }),
    },
    {
      what: "a conflict for the body that created the key",
      broken: /^all responses to an idempotency key/,
      tamper: (evidence) => ({
        ...evidence,
        client: evidence.client.map((line) =>
          line.type === "ack" && line.status === 202 ? { ...line, status: 409, id: null } : line,
        ),
      }),
    },
    {
      what: "a generation that no client submitted",
      broken: /^every stored generation was requested/,
      tamper: (evidence) => withFirst(evidence, { bodyHash: "0".repeat(64) }),
    },
    {
      what: "a generation that never ended",
      broken: /^every generation ended/,
      tamper: (evidence) => withFirst(evidence, { status: "running" }),
    },
    {
      what: "an end that was reverted",
      broken: /^a final resource that a client received/,
      tamper: (evidence) => {
        const { id, account } = first(evidence);
        return { ...evidence, client: [...evidence.client, { type: "seen", account, id, resource: { id, status: "failed" } }] };
      },
    },
    {
      what: "a second capture",
      broken: /^a generation is charged at most once/,
      tamper: (evidence) => withFirst(evidence, { transfers: [...first(evidence).transfers, { kind: "capture", credits: 1 }] }),
    },
    {
      what: "a missing credit",
      broken: /^credits are conserved/,
      tamper: (evidence) => ({
        ...evidence,
        balances: evidence.balances.map((one, at) => (at === 0 ? { ...one, available: one.available - 1 } : one)),
      }),
    },
    {
      what: "a job without an attempt",
      broken: /^every job of a provider belongs to an attempt/,
      tamper: (evidence) =>
        withFirst(evidence, { tries: first(evidence).tries.map((attempt) => ({ ...attempt, state: "absent", job: null })) }),
    },
    {
      what: "a submission without a stored event",
      broken: /^every job of a provider belongs to an attempt/,
      tamper: (evidence) => withFirst(evidence, { events: [] }),
    },
    {
      what: "a lost job that is not reported as an orphan",
      broken: /^every job of an attempt that was given up/,
      tamper: (evidence) =>
        withFirst(evidence, { tries: first(evidence).tries.map((attempt) => ({ ...attempt, state: "lost" })), orphans: [] }),
    },
    {
      what: "a hold that was never released",
      broken: /^a hold is placed once and settled once/,
      tamper: (evidence) => withFirst(evidence, { transfers: first(evidence).transfers.filter(({ kind }) => kind === "hold") }),
    },
    {
      what: "a second job of an attempt",
      broken: /^an attempt has at most one job/,
      tamper: (evidence) => ({ ...evidence, submissions: [...evidence.submissions, { ...jobOf(evidence), job_id: "another" }] }),
    },
    {
      what: "a second submission after an inconclusive response",
      broken: /^an attempt has at most one job/,
      tamper: (evidence) => {
        const lost: Submission = { ...jobOf(evidence), job_id: null, accepted: false, answer: "drop" };
        return { ...evidence, submissions: [lost, ...evidence.submissions] };
      },
    },
    {
      what: "an attempt with a job that the provider does not know",
      broken: /^every job of an attempt is in the provider's log/,
      tamper: (evidence) => ({ ...evidence, submissions: evidence.submissions.filter((line) => line !== jobOf(evidence)) }),
    },
    {
      what: "an acknowledged cancellation that is not stored",
      broken: /^an acknowledged cancellation is stored/,
      tamper: (evidence) => withEnding(evidence, "cancel"),
    },
    {
      what: "a cancellation that no client requested",
      broken: /^an acknowledged cancellation is stored/,
      tamper: (evidence) => withFirst(evidence, { status: "failed", error: { code: "cancelled", message: "" } }),
    },
    {
      what: "an attempt that began after a cancellation",
      broken: /^an acknowledged cancellation is stored/,
      tamper: (evidence) => {
        const { events } = first(evidence);
        const cancelled = { version: 0, atMs: 0, event: { type: "cancelRequested" }, stateAfter: "" };
        return withFirst(withEnding(evidence, "cancel"), { events: [cancelled, ...events] });
      },
    },
    {
      what: "an acknowledged deletion that is not stored",
      broken: /^an acknowledged deletion is stored/,
      tamper: (evidence) => withEnding(evidence, "delete"),
    },
    {
      what: "a deletion that left a text",
      broken: /^an acknowledged deletion is stored/,
      tamper: (evidence) => withFirst(evidence, { hasText: true }),
    },
    {
      what: "a final event that was never received",
      broken: /^every final event was received/,
      tamper: (evidence) => withReceived(evidence, (event) => (isFinal(event) ? [] : [event])),
    },
    {
      what: "a final event that no address accepted",
      broken: /^every final event was received/,
      tamper: (evidence) => withReceived(evidence, (event) => [{ ...event, answer: "rejected" }]),
    },
    {
      what: "a signature that the library rejects",
      broken: /^the official library accepts/,
      tamper: (evidence) => withReceived(evidence, (event) => [{ ...event, isVerified: false }]),
    },
    {
      what: "an event that arrived while its generation was running",
      broken: /^no webhook event arrives before its commit/,
      tamper: (evidence) => withReceived(evidence, (event) => [{ ...event, stored: isFinal(event) ? "running" : event.stored }]),
    },
    {
      what: "an event that arrived before its generation was stored",
      broken: /^no webhook event arrives before its commit/,
      tamper: (evidence) => withReceived(evidence, (event) => [{ ...event, stored: "missing" }]),
    },
    {
      what: "an event of a generation that a crash took back",
      broken: /^every received event is stored/,
      tamper: (evidence) => withReceived(evidence, (event) => [{ ...event, data: { ...event.data, id: "gen_another" } }]),
    },
    {
      what: "an event with another cost than a poll",
      broken: /^every received event is stored/,
      tamper: (evidence) => withReceived(evidence, (event) => [{ ...event, data: { ...event.data, cost_usd: 99 } }]),
    },
    {
      what: "an event at the address of another account",
      broken: /^every received event is stored/,
      tamper: (evidence) => withReceived(evidence, (event) => [{ ...event, path: "/endpoint/999/0" }]),
    },
    {
      what: "an event with a number that no transition has",
      broken: /^every received event is stored/,
      tamper: (evidence) => withReceived(evidence, (event) => [{ ...event, sequence: event.sequence + 1000 }]),
    },
  ];

  const isFinal = ({ type }: ReceivedWebhook): boolean => type === "generation.succeeded" || type === "generation.failed";
  const withReceived = (evidence: Evidence, change: (event: ReceivedWebhook) => ReceivedWebhook[]): Evidence => {
    if (!evidence.webhooks) throw new Error("the run has no webhooks");
    const received = evidence.webhooks.received.flatMap((event) => (event.stored === null ? [event] : change(event)));
    return { ...evidence, webhooks: { ...evidence.webhooks, received } };
  };
  /** The response 200 to a request that the service forgot. */
  const withEnding = (evidence: Evidence, type: "cancel" | "delete"): Evidence => {
    const { id, account } = first(evidence);
    return { ...evidence, client: [...evidence.client, { type, account, id, status: 200, code: null, atMs: Date.now() }] };
  };
  /** A generation that succeeded on its first attempt, and that no client cancelled or deleted. */
  const first = ({ stored, client }: Evidence): Stored => {
    const ended = new Set(client.flatMap((line) => (line.type === "cancel" || line.type === "delete" ? [line.id] : [])));
    const found = stored.find(({ id, status, attempts }) => status === "succeeded" && attempts === 1 && !ended.has(id));
    if (!found) throw new Error("no generation succeeded on its first attempt");
    return found;
  };
  const withFirst = (evidence: Evidence, change: Partial<Stored>): Evidence => {
    const one = first(evidence);
    return { ...evidence, stored: evidence.stored.map((each) => (each === one ? { ...one, ...change } : each)) };
  };
  const jobOf = (evidence: Evidence): Submission => {
    const found = evidence.submissions.find(({ job_id }) => job_id !== null && job_id === first(evidence).tries[0]?.job?.jobId);
    if (!found) throw new Error("the first generation has no job");
    return found;
  };

  for (const { what, broken, tamper } of TAMPERINGS)
    test(`the audit finds ${what}`, () => {
      const found = auditAll(tamper(end.evidence)).filter(({ faults }) => faults.length > 0);
      expect(found.map(({ name }) => name)).toContainEqual(expect.stringMatching(broken));
    });
});
