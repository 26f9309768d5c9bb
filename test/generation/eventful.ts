// A generation with a long history: a crash during its first submission, a fallback, and a lost response that was confirmed.
import { REPLICATE, SPARE } from "./catalogue.ts";
import { expectEnd, type Scene } from "./fixture.ts";
import { openLasting } from "./lasting.ts";

/** The harness after the restart, in which the generation succeeded on its second route for 30 credits. */
export const eventful = async (): Promise<{ again: Scene; id: string }> => {
  const routes = [{ ...REPLICATE, usd: "0.20" }, SPARE];
  const lasting = await openLasting(routes, { death: { at: "after", event: "slotTaken" } });
  lasting.first.simulator.script({ fault: "drop-after", endpoint: "life/spare", times: 1 });
  const { id } = await lasting.first.begin();
  await lasting.reached;
  await lasting.die();
  const again = await lasting.reopen();
  await again.hurry(async () => (await again.show(id)).completed_at !== null);
  await expectEnd(again, id, { ends: 30, attempts: ["absent", "delivered"], received: ["spare"] });
  return { again, id };
};
