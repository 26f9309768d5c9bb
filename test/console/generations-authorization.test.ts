// Generations in the console with a session: who may create them, and the event stream that ends with the session.
import { expect, test } from "bun:test";
import type { GenerationDto } from "../../src/console/generations-dto.ts";
import { openHarness } from "../harness.ts";
import { join, setUp } from "./visitor.ts";

const ASK = { model: "vidmodel-2.0-fast", input: { prompt: "a kite", resolution: "480p", duration: 4 } };

test("a member generates and receives events until sign-out, and a request without the CSRF token creates nothing", async () => {
  const harness = await openHarness();
  try {
    const ada = await setUp(harness);
    const ben = await join(harness, ada, { email: "ben@example.com", role: "member", accountId: harness.tenant.accountId });
    expect(await ben.ok("POST", "/console/api/quote", ASK)).toMatchObject({ refusal: null, reservedCredits: 28 });
    const events = await fetch(`${harness.url}/console/api/events`, { headers: { cookie: ben.cookie ?? "" } });
    expect(events.headers.get("content-type")).toBe("text/event-stream");
    let heard = "";
    const over = (async () => {
      for await (const piece of events.body ?? []) heard += new TextDecoder().decode(piece);
    })();
    const made = await ben.ask("POST", "/console/api/generations", ASK, { "idempotency-key": "one" });
    expect(made.status).toBe(200);
    const { id } = made.body as unknown as GenerationDto;
    await harness.until(id);
    expect(await ben.ok("GET", `/console/api/generations/${id}`)).toMatchObject({ status: "succeeded", accountId: null });
    await harness.eventually(() => /"status":"succeeded"/.test(heard), "the success event");
    const unmarked = await fetch(`${harness.url}/console/api/generations`, {
      ...{ method: "POST", body: JSON.stringify(ASK) },
      headers: { cookie: ben.cookie ?? "", "idempotency-key": "two" },
    });
    expect(unmarked.status).toBe(403);
    const keys = (await harness.store.keys(harness.tenant.accountId)).map((key) => key.id);
    expect(keys).toEqual([harness.tenant.keyId]);
    await ben.ask("DELETE", "/console/api/session");
    harness.clock.skip(20_000);
    await over;
  } finally {
    await harness.close();
  }
});

test.each([
  ["on", 200],
  ["off", 404],
] as const)(
  "with the inspector %s, a generation has a link to the inspector only if the inspector serves it",
  async (enabled, status) => {
    const harness = await openHarness({ env: { GENROUTER_INSPECTOR__ENABLED: enabled } });
    try {
      const ada = await setUp(harness);
      const ben = await join(harness, ada, { email: "ben@example.com", role: "member", accountId: harness.tenant.accountId });
      const { id } = await harness.submit(ASK.model, ASK.input);
      await harness.until(id);
      for (const who of [ada, ben]) {
        const { inspectorUrl } = await who.ok("GET", `/console/api/generations/${id}`);
        expect(inspectorUrl).toBe(status === 200 ? `/inspector/${id}` : null);
        expect((await who.ask("GET", `/inspector/api/generations/${id}`)).status).toBe(status);
      }
      expect((await fetch(`${harness.url}/inspector/${id}`)).status).toBe(status);
    } finally {
      await harness.close();
    }
  },
);
