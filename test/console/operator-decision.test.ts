// Parked generations on the service page: an operator decides with a reason; a viewer can only read.
import { expect, test } from "bun:test";
import type { DecidedView, ServiceView } from "../../src/console/operator-dto.ts";
import { FAL } from "../generation/catalogue.ts";
import { openScene } from "../generation/fixture.ts";
import { isParked, refusing } from "../generation/refusing.ts";
import { openOperators } from "./operators.ts";

test("shows a parked generation with its reason, accepts a decision from an operator only, and removes it from the list", async () => {
  const scene = await openScene({ routes: [FAL], around: refusing(1) });
  const { id } = await scene.begin();
  await scene.until(id, isParked);
  const { ask } = await openOperators(scene);
  const parked = async () => (JSON.parse((await ask("viewer", "GET", "service")).text) as ServiceView).parked;
  expect(await parked()).toMatchObject([{ id, reservedCredits: 20, reason: expect.stringContaining("was quoted 20 credits") }]);
  const request = { decision: "settle", attempt: null, reason: "seen at the provider" };
  const path = `generations/${id}/decision`;
  for (const role of ["viewer", "member"] as const) expect((await ask(role, "POST", path, request)).status).toBe(403);
  for (const bad of [
    { ...request, reason: "  " },
    { ...request, decision: "forget" },
    { ...request, attempt: 0 },
  ])
    expect((await ask("operator", "POST", path, bad)).status).toBe(400);
  expect((await parked()).length).toBe(1);
  const answered = await ask("operator", "POST", path, request);
  expect([answered.status, (JSON.parse(answered.text) as DecidedView).isTaken]).toEqual([200, true]);
  expect((await scene.until(id)).status).toBe("succeeded");
  expect(await parked()).toEqual([]);
  const again = await ask("operator", "POST", path, request);
  expect([again.status, again.text]).toEqual([expect.any(Number), expect.stringContaining("has ended")]);
  const [line] = await scene.store.audit(null, 1, { action: "decide-generation" });
  expect(line).toMatchObject({ actor: { kind: "user" }, target: id, detail: { decision: "settle", attempt: 1 } });
});
