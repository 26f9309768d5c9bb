// The properties, the long ones first.

import { lookUpProperty } from "./job-lookup.ts";
import { lastCreditProperty } from "./last-credit.ts";
import { ledgerProperty } from "./ledger.ts";
import { limitsProperty } from "./limits.ts";
import { machineProperty } from "./machine.ts";
import { askingProperty } from "./poll.ts";
import { priceProperty } from "./prices.ts";
import { checkProperty, type Outcome } from "./property.ts";
import { changingReceiversProperty, slowReceiversProperty } from "./receivers.ts";
import { resumingProperty } from "./resume-queue.ts";
import { wireProperty } from "./wire.ts";

type Asked = { runs: number; seed: number; keeps: boolean };
export type Named = { name: string; says: string; check: (asked: Asked) => Promise<Outcome> };

export const PROPERTIES: readonly Named[] = [
  { ...ledgerProperty, check: (asked) => checkProperty(ledgerProperty, asked) },
  { ...machineProperty, check: (asked) => checkProperty(machineProperty, asked) },
  { ...limitsProperty, check: (asked) => checkProperty(limitsProperty, asked) },
  { ...lastCreditProperty, check: (asked) => checkProperty(lastCreditProperty, asked) },
  { ...askingProperty, check: (asked) => checkProperty(askingProperty, asked) },
  { ...lookUpProperty, check: (asked) => checkProperty(lookUpProperty, asked) },
  { ...resumingProperty, check: (asked) => checkProperty(resumingProperty, asked) },
  { ...slowReceiversProperty, check: (asked) => checkProperty(slowReceiversProperty, asked) },
  { ...changingReceiversProperty, check: (asked) => checkProperty(changingReceiversProperty, asked) },
  { ...priceProperty, check: (asked) => checkProperty(priceProperty, asked) },
  { ...wireProperty, check: (asked) => checkProperty(wireProperty, asked) },
];
