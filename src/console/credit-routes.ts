// Endpoints of the console API for credits, purchases and the ledger.
import { Type } from "@sinclair/typebox";
import { type CreditsDeps, createCredits } from "./credits.ts";
import { createFirstSteps, type FirstStepsDeps } from "./first-steps.ts";
import { createPurchases, type PurchaseDeps } from "./purchases.ts";
import type { ConsoleRoute } from "./request-context.ts";

const object = <P extends Parameters<typeof Type.Object>[0]>(members: P) => Type.Object(members, { additionalProperties: false });

type Deps = CreditsDeps & PurchaseDeps & FirstStepsDeps;

export const creditRoutes = (deps: Deps): ConsoleRoute[] => {
  const credits = createCredits(deps);
  const purchases = createPurchases(deps);
  const bought = "/console/api/purchases";
  return [
    { method: "GET", path: "/console/api/credits", who: "user", answer: credits.show },
    {
      method: "POST",
      path: "/console/api/credits/low",
      who: "user",
      body: object({ usd: Type.Union([Type.Number(), Type.Null()]) }),
      answer: credits.setLow,
    },
    {
      method: "POST",
      path: "/console/api/credits/spend-alert",
      who: "user",
      body: object({ usd: Type.Union([Type.Number(), Type.Null()]) }),
      answer: credits.setSpendAlert,
    },
    { method: "GET", path: "/console/api/first-steps", who: "member", answer: createFirstSteps(deps).show },
    { method: "GET", path: "/console/api/ledger", who: "user", answer: credits.ledger },
    { method: "GET", path: "/console/api/ledger.csv", who: "user", answer: credits.csv },
    { method: "GET", path: bought, who: "user", answer: purchases.list },
    { method: "POST", path: bought, who: "user", body: object({ amount_usd: Type.Number() }), answer: purchases.buy },
    { method: "GET", path: `${bought}/:id`, who: "user", answer: purchases.show },
    { method: "POST", path: `${bought}/:id/checkout`, who: "user", answer: purchases.checkout },
    { method: "POST", path: `${bought}/:id/cancel`, who: "user", answer: purchases.cancel },
    { method: "POST", path: `${bought}/:id/look`, who: "user", answer: purchases.look },
    {
      method: "POST",
      path: `${bought}/:id/test`,
      who: "user",
      body: object({ how: Type.Union([Type.Literal("pay"), Type.Literal("cancel")]) }),
      answer: purchases.endTest,
    },
  ];
};
