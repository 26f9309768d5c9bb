// An outage of 25 polls does not fail an attempt; its job is collected after the outage.
import { expect, test } from "bun:test";
import type { Rule } from "../../src/simulator/simulator.ts";
import { FAL, REPLICATE, SPARE } from "../generation/catalogue.ts";
import { expectEnd, openScene } from "../generation/fixture.ts";

/** Five times the number after which a similar service gave up. */
const MANY = 25;
const OUTAGES: [what: string, rule: Rule][] = [
  ["server errors", { fault: "poll-5xx", polls: MANY }],
  ["bad gateways", { fault: "poll-5xx", polls: MANY, status: 502 }],
  ["broken connections", { fault: "poll-drop", polls: MANY }],
  ["too many requests", { fault: "poll-429", polls: MANY }],
  ["timeouts", { fault: "poll-hang", polls: 8 }],
];

for (const [what, rule] of OUTAGES)
  for (const route of [FAL, { ...REPLICATE, usd: "0.20" }])
    test(`${rule.polls} polls of ${route.name} end in ${what}: the job delivers and is charged once`, async () => {
      const scene = await openScene({ routes: [{ ...route, timeoutS: 2_000 }, SPARE], factor: 400, callTimes: { pollMs: 100 } });
      scene.simulator.script(rule);
      const { id } = await scene.begin();
      await expectEnd(scene, id, { ends: 20, attempts: ["delivered"], received: [route.name] });
      expect(scene.simulator.jobs()).toHaveLength(1);
      expect(scene.simulator.jobs()[0]?.polls).toBeGreaterThan(Number(rule.polls));
    });
