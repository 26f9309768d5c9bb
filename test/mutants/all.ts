// All mutants: each is a bug that a property, the delivery test or the simulation must find.

import { ASKING_MUTANTS } from "./asking.ts";
import { CANCEL_MUTANTS } from "./cancels.ts";
import { DELIVERY_MUTANTS } from "./deliveries.ts";
import { ERASURE_MUTANTS } from "./erasures.ts";
import { LIFE_MUTANTS } from "./life.ts";
import { LIMIT_MUTANTS } from "./limits.ts";
import { MONEY_MUTANTS } from "./money.ts";
import type { Mutant } from "./mutant.ts";
import { NODE_MUTANTS } from "./nodes.ts";
import { OPERATED_MUTANTS } from "./operated.ts";
import { PIN_MUTANTS } from "./pins.ts";
import { RECEIVER_MUTANTS } from "./receivers.ts";
import { UPLOAD_MUTANTS } from "./uploads.ts";
import { WEBHOOK_MUTANTS } from "./webhooks.ts";

export const MUTANTS: readonly Mutant[] = [
  ...MONEY_MUTANTS,
  ...LIMIT_MUTANTS,
  ...LIFE_MUTANTS,
  ...ASKING_MUTANTS,
  ...NODE_MUTANTS,
  ...DELIVERY_MUTANTS,
  ...PIN_MUTANTS,
  ...OPERATED_MUTANTS,
  ...CANCEL_MUTANTS,
  ...ERASURE_MUTANTS,
  ...RECEIVER_MUTANTS,
  ...WEBHOOK_MUTANTS,
  ...UPLOAD_MUTANTS,
];
