// Tests of results inside the response: an unreadable one fails immediately, because it cannot be requested again.
import { expect, setDefaultTimeout, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { openHarness } from "../harness.ts";
import { leastInput } from "../least-input.ts";

setDefaultTimeout(60_000);

const CATALOGUE = builtInCatalogue();

for (const fault of ["unreadable", "truncated", "wrong-kind"] as const)
  test(`fails the route within a minute, without a failed effect and without a charge, when an inline result is ${fault}`, async () => {
    const harness = await openHarness({ providers: ["openai"], catalogue: CATALOGUE });
    const model = CATALOGUE.models.find(({ id }) => id === "gpt-image-2");
    if (!model) throw new Error("no such model");
    harness.simulator.script({ fault });
    const { id } = await harness.submit(model.id, leastInput(model, `${harness.simulator.url}/samples`));
    const ended = await harness.until(id);
    expect(ended).toMatchObject({ status: "failed", cost_usd: 0, error: { code: "provider_failed" } });
    const seq = (await harness.store.findGeneration(id))?.seq ?? 0;
    const events = await harness.store.eventsOf(seq);
    // A file that possibly only this service cannot read is lost; the other files are unusable for anyone.
    const end = fault === "unreadable" ? "resultLost" : "mismatched";
    expect(events.map(({ event }) => event.type)).toEqual(["begun", "slotTaken", "announced", "resultUnreadable", end]);
    const [announcedMs = 0, lostMs = 0] = [2, 4].map((at) => events[at]?.atMs);
    expect(lostMs - announcedMs).toBeLessThan(60_000);
    expect(harness.lines.filter(({ fields }) => fields.generation_seq !== undefined)).toEqual([]);
    await harness.close();
  });
