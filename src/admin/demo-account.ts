// The account that the start of a simulator creates, with the test credit.
import { idFor } from "./request-reference.ts";

/** An earlier start that was killed may have created the account already. The reference prevents a second one. */
export const DEMO_REFERENCE = "demo account";
export const DEMO_ACCOUNT_ID = idFor("acc", DEMO_REFERENCE);
