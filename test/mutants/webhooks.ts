// Mutants of webhooks: events that are early, lost, repeated or sent to the wrong receiver.
import type { Mutant } from "./mutant.ts";

const DELIVERY = "src/webhooks/delivery.ts";
const LANE = "actors/webhooks/lane.ts";
const AT_LEAST_ONCE = "at least once, never before the commit";

export const WEBHOOK_MUTANTS: readonly Mutant[] = [
  {
    name: "webhook-before-commit",
    breaks: "The end of a generation is sent when its mutation is posted, before the outcome of the commit is known.",
    standsFor: AT_LEAST_ONCE,
    patches: [
      {
        file: "src/app/engine.ts",
        find: "  const { post } = ledger;\n",
        put: `  const early = async (mutation: any) => {
    const { seq: generationSeq, version: sequence, atMs, settlement } = mutation;
    const record = await store.generationBySeq(generationSeq);
    const type = settlement.kind === "capture" ? "generation.succeeded" : "generation.failed";
    for (const { seq, accountSeq, enabled } of record ? await store.webhookEndpoints(record.accountSeq) : []) {
      const event = { seq: -seq, accountSeq, endpointSeq: seq, url: null, type, generationSeq, data: null, sequence };
      const delivery = { ...event, createdAtMs: atMs, tries: 0, retryNo: 0, dueAtMs: atMs };
      if (enabled) webhooksChanged(mutation, { kind: "stepped", record, deliveries: [delivery] } as any);
    }
  };
  const post: Ledger["post"] = (mutation) => {
    if (mutation.mutation === "step" && mutation.settlement) void early(mutation);
    return ledger.post(mutation);
  };
`,
      },
    ],
    killer: "simulation",
  },
  {
    name: "webhook-not-in-the-transaction",
    breaks: "The end of a generation is only in the memory of the process that delivers it.",
    standsFor: "the outbox row is written in the transaction that makes the event true",
    patches: [
      {
        file: "src/store/sqlite/outbox.ts",
        find: "        insert.run(seq, token,",
        put: '        if (type === "generation.running") insert.run(seq, token,',
      },
    ],
    killer: "simulation",
  },
  {
    name: "webhook-queue-not-read",
    breaks: "A process does not read the deliveries that a former process left.",
    standsFor: AT_LEAST_ONCE,
    patches: [
      {
        file: DELIVERY,
        find: "const { begin, stop: stopBeginning } = createBeginning(clock, takeOver, failed);",
        put: "const { begin, stop: stopBeginning } = createBeginning(clock, async () => undefined, failed);",
      },
    ],
    killer: "simulation",
    seed: 30,
  },
  {
    name: "webhook-not-taken-over",
    breaks: "The deliveries of an ended node are not taken over with its lease.",
    standsFor: "over several nodes a delivery has one owner, and a dead node's deliveries are taken over",
    patches: [
      {
        file: DELIVERY,
        find: "while (node !== null && (await node.takeOverWebhooks(CLAIM_LIMIT)) === CLAIM_LIMIT);",
        put: "",
      },
    ],
    killer: "nodes",
  },
  {
    name: "webhook-success-not-stored",
    breaks: "A delivered event is not marked, so the next process sends it again.",
    standsFor: "the result of a try is stored",
    patches: [
      {
        file: LANE,
        find: "    await deps.record(result, after);\n",
        put: '    if (verdict !== "delivered") await deps.record(result, after);\n',
      },
    ],
    killer: "simulation",
  },
  {
    name: "webhook-of-a-former-process-not-marked",
    breaks: "The result of a delivery is stored only if the same opening of the database has written it.",
    standsFor: "simulate, seed 900000: after a restart a delivered event was sent again at each change of an endpoint",
    patches: [
      {
        file: "src/store/sqlite/sql-program.ts",
        find: 'deliveredBy: () => "true"',
        put: "deliveredBy: (epoch) => `d.epoch = ${epoch}`",
      },
    ],
    killer: "simulation",
  },
  {
    name: "webhook-gone-is-a-failure",
    breaks: "A receiver that returns 410 gets retries, and its endpoint stays enabled.",
    standsFor: "410 disables",
    patches: [{ file: LANE, find: '  if (status === GONE) return "gone";\n', put: "" }],
    killer: "simulation",
    seed: 125,
  },
  {
    name: "webhook-running-after-the-end",
    breaks: "A `running` event that was not delivered is sent after the end of its generation.",
    standsFor: "an undelivered running is dropped when the terminal event exists",
    patches: [
      {
        file: "src/webhooks/send.ts",
        find: "if (record && isOutdated(delivery, record, target.events))",
        put: 'if (record && isOutdated(delivery, { ...record, status: "running" }, target.events))',
      },
    ],
    killer: "simulation",
    seed: 85,
  },
  {
    name: "webhook-new-secret-only",
    breaks: "After a rotation only the new secret signs, which its receiver does not know yet.",
    standsFor: "two secrets are valid while rotating",
    patches: [
      {
        file: "src/webhooks/secrets.ts",
        find: "previousUntilMs !== null && nowMs < previousUntilMs ?",
        put: "previousUntilMs !== null && nowMs < 0 ?",
      },
    ],
    killer: "simulation",
    seed: 80,
  },
  {
    name: "webhook-retry-at-once",
    breaks: "A failed delivery is tried again after a second, whatever its place in the schedule.",
    standsFor: "retries after 5 s, 1 min, 5 min, 30 min, 2 h, 5 h, 10 h",
    patches: [
      {
        file: "actors/webhooks/schedule.ts",
        find: "dueAtMs: atMs + pauseMs }",
        put: "dueAtMs: atMs + Math.min(pauseMs, 1000) }",
      },
    ],
    killer: "simulation",
  },
];
