// An unknown poll response does not end a job; polling continues until the route times out.
import { expect, test } from "bun:test";
import { createProviders } from "../../src/providers/providers.ts";
import type { Rule } from "../../src/simulator/simulator.ts";
import { FAL, REPLICATE, SPARE } from "../generation/catalogue.ts";
import { expectEnd, openScene } from "../generation/fixture.ts";
import { taskFor } from "../providers/task.ts";
import { answerOf, openWire } from "../providers/wire.ts";

const MANY = 40;
const UNKNOWN: [what: string, rule: Rule][] = [
  ["an unknown status", { fault: "unknown-status", polls: MANY }],
  ["an HTML page instead of JSON", { fault: "poll-rubbish", polls: MANY }],
];

for (const [what, rule] of UNKNOWN)
  for (const route of [FAL, { ...REPLICATE, usd: "0.20" }])
    test(`after forty polls with ${what} ${route.name} continues to poll, delivers and charges once`, async () => {
      const scene = await openScene({ routes: [{ ...route, timeoutS: 2_000 }, SPARE], factor: 400 });
      scene.simulator.script(rule);
      scene.simulator.script({ fault: "late-ms", ms: 100_000 });
      const { id } = await scene.begin();
      await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: [route.name] });
      const [job] = scene.simulator.jobs();
      expect(scene.simulator.jobs()).toHaveLength(1);
      expect(job?.polls).toBeGreaterThan(MANY);
    });

test("an unknown status in every poll: the timeout of the route ends the attempt, and the next route delivers", async () => {
  const scene = await openScene({ routes: [FAL, SPARE], factor: 400 });
  scene.simulator.script({ fault: "unknown-status", polls: 100_000, endpoint: "life/fal" });
  const { id } = await scene.begin();
  await expectEnd(scene, id, { ends: 30, attempts: ["capped", "delivered"], received: ["fal", "spare"] });
});

const ODD: readonly unknown[] = [
  {},
  [],
  null,
  7,
  "done",
  { status: null },
  { status: 5 },
  { status: "" },
  { state: "SUCCESS" },
  { error: "?" },
  { detail: [] },
];
for (const provider of ["fal", "replicate"] as const)
  for (const status of [200, 202, 299])
    for (const body of ODD)
      test(`a poll of ${provider} with ${status} ${JSON.stringify(body)} is unclear or pending`, async () => {
        using wire = openWire({ asked: (s) => void s.write(answerOf(status, body as object)) });
        const settings = { [provider]: { base_url: wire.url, key: "s3cr3t-0123456789" } };
        const providers = createProviders({ settings, isOwned: async () => false });
        const seen = await providers.poll(taskFor({ provider, job: { jobId: "job-1" } }), AbortSignal.timeout(5_000));
        expect(["unclear", "pending"]).toContain(seen.kind);
      });
