// fal's queue accepts any path below a known app, and only the result reports that the path does not exist.
import { expect, test } from "bun:test";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { FAL, REPLICATE } from "../generation/catalogue.ts";
import { expectEnd, openScene } from "../generation/fixture.ts";

test("falls back and takes a route out of service without an orphan when fal reports that its path does not exist", async () => {
  const scene = await openScene({ routes: [FAL, REPLICATE] });
  scene.simulator.script({ fault: "no-path", provider: "fal" });
  const { id } = await scene.begin();
  await expectEnd(scene, id, { ends: 25, attempts: ["failed", "delivered"], received: ["fal", "replicate"] });
  const [first] = await scene.attempts(id);
  expect(first?.failure).toMatchObject({ class: "config_fault", detail: expect.stringMatching(/Path \/.* not found/) });
  // The service logs the route for the operator and submits nothing else to it.
  const alarms = scene.lines.filter(({ event }) => event === "route needs operator");
  expect(alarms).toMatchObject([{ fields: { route_id: "life/fal", error_code: "config_fault" } }]);
  expect((await scene.begin()).quoted_usd).toBe(0.25);
  expect(await scene.store.orphans(0)).toEqual([]);
});

test("simulator returns 404 for unknown paths of fal's own apps and accepts any path of other apps", async () => {
  const simulator = await createSimulator({ speed: 100_000 });
  const authorization = "Key k";
  const ask = async (path: string) => {
    const sent = await fetch(`${simulator.falUrl}/${path}`, {
      ...{ method: "POST", headers: { authorization, "content-type": "application/json" } },
      body: JSON.stringify({ prompt: "a fox", video_urls: [] }),
    });
    const { response_url, status_url } = (await sent.json()) as { response_url: string; status_url: string };
    for (;;) {
      const { status } = (await (await fetch(status_url, { headers: { authorization } })).json()) as { status: string };
      if (status === "COMPLETED") break;
    }
    return (await fetch(response_url, { headers: { authorization } })).status;
  };
  for (const path of ["bytedance/seedance-2.5/edit-video", "alibaba/wan-3.0/extend", "openai/gpt-image-2/edits"])
    expect([path, await ask(path)]).toEqual([path, 404]);
  for (const path of ["bytedance/seedance-2.5/reference-to-video", "alibaba/wan-3.0/text-to-video", "anybody/app/any/path"])
    expect([path, await ask(path)]).toEqual([path, 200]);
  await simulator.stop();
});
