// Controls of the webhook audit: services whose deliveries are wrong in one way each. If the audit does not find it, it proves nothing.
import { join } from "node:path";
import type { Check } from "../../src/torture/crash/audit.ts";
import { runRandom } from "../../src/torture/crash/random.ts";
import type { Patch } from "../mutants/mutant.ts";
import { patchedSources } from "./patched-sources.ts";

/** `finds`: the check that must fail. */
export type WebhookControl = { name: string; finds: string; patches: readonly Patch[] };

const ALL_SENT = "a start sends every event that the kills before it left in the outbox";

/** The queue of former processes is not read at a start, nor at a takeover. */
export const UNREAD_QUEUE: WebhookControl = {
  name: "the outbox is not read at a start",
  finds: ALL_SENT,
  patches: [
    {
      file: "src/webhooks/delivery.ts",
      find: "    targets.forget();\n    await lanes.scan();\n",
      put: "    targets.forget();\n",
    },
  ],
};

export const WEBHOOK_CONTROLS: readonly WebhookControl[] = [
  UNREAD_QUEUE,
  {
    name: "deliveries are not written in the transaction of their event",
    finds: ALL_SENT,
    patches: [
      {
        file: "src/store/sqlite/outbox.ts",
        find: "createdAtMs } of deliveries)\n        insert.run(",
        put: "createdAtMs } of deliveries)\n        if (type === 'webhook.test') insert.run(",
      },
    ],
  },
  {
    name: "the results of tries are stored only for deliveries of this opening",
    finds: "a delivery that was accepted leaves the outbox",
    patches: [{ file: "src/store/sqlite/sql-program.ts", find: '() => "true",', put: "(epoch) => 'd.epoch = ' + epoch," }],
  },
  {
    name: "the writing thread answers before it commits",
    finds: "no webhook event arrives before its commit",
    patches: [
      {
        file: "src/store/sqlite/worker.ts",
        find: "    answer(write(message));\n",
        put: `    let isEarly = false;
    const early = (outcomes) => {
      if (!outcomes.some(({ deliveries }) => deliveries)) return;
      isEarly = true;
      answer(outcomesToText(outcomes));
      Bun.sleepSync(50);
    };
    Object.assign(globalThis, { early });
    const late = write(message);
    if (!isEarly) answer(late);
`,
      },
      {
        file: "src/store/sqlite/batch.ts",
        find: "    commit.run();\n",
        put: "    globalThis.early?.(outcomes);\n    commit.run();\n",
      },
    ],
  },
];

const CYCLES = 3;
const WORKERS = 16;

/** Plays a short run of the faulty service. @param dir an empty directory */
export const playWebhookControl = async (
  { name, finds, patches }: WebhookControl,
  { dir, seed, say }: { dir: string; seed: number; say: (line: string) => void },
): Promise<Check> => {
  const genrouter = patchedSources(join(dir, "sources"), patches);
  const { checks } = await runRandom({
    ...{ dir: join(dir, "run"), cycles: CYCLES, seed, workers: WORKERS, genrouter },
    report: (line) => {
      if (!line.startsWith("kept")) say(line);
    },
  });
  const found = checks.find((check) => check.name === finds)?.faults.length ?? 0;
  return { name: `if ${name}, the audit finds it: ${found} faults`, faults: found > 0 ? [] : [`no fault of "${finds}"`] };
};
