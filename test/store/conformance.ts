// Store contract: one suite that runs over every driver.
import { afterEach, beforeEach, describe, expect } from "bun:test";
import type { Store } from "../../src/store/store.ts";
import { adminPromises } from "./contract/admin.ts";
import { admissionPromises } from "./contract/admission.ts";
import { attemptPromises } from "./contract/attempts.ts";
import { debtPromises } from "./contract/debts.ts";
import { endUserPromises } from "./contract/end-users.ts";
import { erasurePromises } from "./contract/erasure.ts";
import { keyPromises } from "./contract/keys.ts";
import { listPromises } from "./contract/lists.ts";
import { lowBalancePromises } from "./contract/low-balance.ts";
import { purchasePromises } from "./contract/purchases.ts";
import { resumablePromises } from "./contract/resumable-uploads.ts";
import { spendAlertPromises } from "./contract/spend-alerts.ts";
import { stepPromises } from "./contract/steps.ts";
import { uploadPromises } from "./contract/uploads.ts";
import { usagePromises } from "./contract/usage.ts";
import { userPromises } from "./contract/users.ts";
import { webhookPromises } from "./contract/webhooks.ts";
import { type Account, openAccount, violations } from "./fixture.ts";

/** Fixture of each test: a new store with one account of 1,000 credits. Destructure it inside a test, never before. */
export interface Stage {
  readonly store: Store;
  readonly account: Account;
  /** Available, held and charged credits, and generations in progress, of the account. */
  readonly balance: () => Promise<(number | undefined)[]>;
}

/** Runs the suite over a driver. `open` returns an empty store each time. */
export const conformance = (driver: string, open: () => Promise<Store>): void => {
  describe(`store over ${driver}`, () => {
    let store: Store;
    let account: Account;
    const stage: Stage = {
      get store() {
        return store;
      },
      get account() {
        return account;
      },
      balance: async () => {
        const row = await store.account(account.id);
        return [row?.availableCredits, row?.heldCredits, row?.chargedCredits, row?.inProgress];
      },
    };
    beforeEach(async () => {
      store = await open();
      account = await openAccount(store, 1000);
    });
    afterEach(async () => {
      // The invariants hold after every test.
      expect(await violations(store)).toEqual([]);
      await store.close();
    });
    admissionPromises(stage);
    stepPromises(stage);
    attemptPromises(stage);
    adminPromises(stage);
    erasurePromises(stage);
    keyPromises(stage);
    endUserPromises(stage);
    usagePromises(stage);
    listPromises(stage);
    lowBalancePromises(stage);
    spendAlertPromises(stage);
    purchasePromises(stage);
    debtPromises(stage);
    userPromises(stage);
    uploadPromises(stage);
    resumablePromises(stage);
    webhookPromises(stage);
  });
};
