// A submission that no configured route accepts is rejected before any link is opened, at any balance.
import { expect, test } from "bun:test";
import { builtInCatalogue } from "../../catalogue/load.ts";
import { ApiError } from "../../src/domain/api-errors.ts";
import type { MediaLink } from "../../src/domain/types.ts";
import { createSubmit, type SubmitDeps, type SubmitRequest } from "../../src/generations/submit.ts";
import { checkInput } from "../../src/quote/check-input.ts";
import { cheapestJob, leastReserve } from "../../src/quote/minimum-price.ts";
import { leastInput } from "../least-input.ts";

const LINK = "https://media.example/frame.png";

/** Submits for an account without credits with one configured provider; returns the error and the opened links. */
const refusalOf = async (provider: string, model: string, input: SubmitRequest["input"]) => {
  const catalogue = builtInCatalogue();
  const opened: string[] = [];
  const providerOf = new Map(
    catalogue.models.flatMap(({ routes }) => routes.map((route) => [route.id, route.provider] as const)),
  );
  const submit = createSubmit({
    reads: {
      generationByKey: async () => undefined,
      account: async () => ({ availableCredits: 0, owedCredits: 0, inProgress: 0 }),
    },
    ...{ admission: () => "open", catalogue: () => catalogue, expectedMs: () => undefined, allowsHost: () => false },
    routeState: (id: string) => (providerOf.get(id) === provider ? "up" : "unconfigured"),
    measure: async (links: readonly MediaLink[]) => {
      opened.push(...links.map(({ url }) => url));
      return links.map(({ field, url, kind }) => ({ field, url, kind, ms: 5000, width: 1280, height: 720 }));
    },
    ownFiles: { isOwn: () => false, find: async () => undefined },
    ...{ pins: { isTrusting: false, mostBytes: 1e9 }, limits: { inProgress: 100, noWaitMs: 1e8 }, skipped: () => undefined },
  } as unknown as SubmitDeps);
  const caller = { accountSeq: 1, accountId: "acc_1", keySeq: 1, models: null, inProgressLimit: null };
  const order = {
    caller,
    requestId: "r",
    model,
    input,
    maxCostCredits: 10_000,
    maxWaitMs: null,
    idempotencyKey: null,
    body: "{}",
  };
  const fault = await submit(order as unknown as SubmitRequest).catch((caught: unknown) => caught);
  if (!(fault instanceof ApiError)) throw new Error(`it was not refused: ${fault}`);
  return { code: fault.code, message: fault.message, opened };
};

test("rejects a resolution that no configured route has with invalid_input, and opens no link", async () => {
  const { code, message, opened } = await refusalOf("fal", "luma-ray-2", { prompt: "dunes", resolution: "4k", image_url: LINK });
  expect([code, opened]).toEqual(["invalid_input", []]);
  expect(message).toContain("input.resolution");
});

test("rejects a supported request of an account without credits with insufficient_credits, and opens no link", async () => {
  const { code, opened } = await refusalOf("fal", "luma-ray-2", { prompt: "dunes", resolution: "720p", image_url: LINK });
  expect([code, opened]).toEqual(["insufficient_credits", []]);
});

test("the cheapest job of a model costs at most what its smallest request does, on every route", () => {
  for (const model of builtInCatalogue().models) {
    const checked = checkInput(model, leastInput(model, "https://media.example"), () => false);
    for (const { id } of model.routes) {
      const isConfigured = (routeId: string) => routeId === id;
      const least = leastReserve(model, checked, isConfigured);
      const cheapest = cheapestJob([model], isConfigured) ?? 0;
      expect(cheapest).toBeGreaterThanOrEqual(1);
      if (least !== undefined) expect([id, cheapest <= least]).toEqual([id, true]);
    }
  }
  expect(cheapestJob(builtInCatalogue().models, () => false)).toBeUndefined();
});
