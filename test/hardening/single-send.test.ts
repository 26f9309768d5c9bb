// A submission is never resent after a server error or a broken connection, as the job may exist.
import { expect, test } from "bun:test";
import type { Rule } from "../../src/simulator/simulator.ts";
import { FAL, REPLICATE, SPARE } from "../generation/catalogue.ts";
import { openScene } from "../generation/fixture.ts";

/** Errors after which the clients of vendors resend. `-after`: the job was accepted. */
const RETRIED: Rule[] = [
  ...[502, 503, 504].map((status): Rule => ({ fault: "5xx", status })),
  ...[502, 503, 504].map((status): Rule => ({ fault: "5xx-after", status })),
  { fault: "drop" },
  { fault: "drop-after" },
  { fault: "cut" },
];
const MINUTES = 20;

for (const rule of RETRIED)
  for (const route of [FAL, { ...REPLICATE, usd: "0.20" }])
    test(`${rule.fault} ${rule.status ?? ""} on ${route.name}: sends the submission once within ${MINUTES} minutes`, async () => {
      const scene = await openScene({ routes: [route, SPARE] });
      scene.simulator.script({ ...rule, endpoint: `life/${route.name}` });
      const { id } = await scene.begin();
      await scene.eventually(() => scene.received().length > 0);
      for (let minute = 0; minute < MINUTES; minute += 1) {
        scene.clock.skip(60_000);
        await scene.show(id);
      }
      expect(scene.received().filter((name) => name === route.name)).toEqual([route.name]);
      const jobs = scene.simulator.submissions().filter((line) => line.type === "submission" && line.accepted);
      expect(jobs.length).toBeLessThanOrEqual(2);
    });
