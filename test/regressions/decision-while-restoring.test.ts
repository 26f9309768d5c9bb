// An operator's decision about a generation that a start after crashes has not restored yet: it is refused, not lost.
import { expect, test } from "bun:test";
import { createGenerationAdmin } from "../../src/admin/generations.ts";
import { openScene } from "../generation/fixture.ts";

const request = (id: string) => ({ id, decision: "fail", attempt: null, reason: "the client asked" }) as const;

test("a decision that would not reach its generation is refused before it is recorded", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "stuck" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  const done: string[] = [];
  const adminOf = (isReachable: boolean) =>
    createGenerationAdmin({
      reads: scene.store,
      post: async (mutation) => {
        done.push(mutation.mutation);
        return scene.components.post(mutation);
      },
      decide: scene.components.decide,
      isReachable: async () => isReachable,
      by: { kind: "command", id: "0", name: "root" },
      clock: scene.clock,
    });
  expect(adminOf(false).decideGeneration(request(id))).rejects.toMatchObject({
    code: "restoring",
    message: expect.stringContaining("being restored"),
  });
  expect(done).toEqual([]);
  expect(await adminOf(true).decideGeneration(request(id))).toMatchObject({ status: "failed", isTaken: true });
  expect(done).toEqual(["decide-generation"]);
});

test("a running service reaches every open generation", async () => {
  const scene = await openScene();
  scene.simulator.script({ fault: "stuck" });
  const { id } = await scene.begin();
  await scene.untilAttempts(id, "accepted");
  expect(await scene.components.isReachable(await scene.seqOf(id))).toBe(true);
});
