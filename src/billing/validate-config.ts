// Whether the settings of Stripe can be used: whole, and of the mode that the data directory has.
import { BadSetting, PREFIX, type Settings } from "../config/schema.ts";

const KEY = `${PREFIX}STRIPE__SECRET_KEY`;
const HOOK = `${PREFIX}STRIPE__WEBHOOK_SECRET`;

/** Money moves with this key. */
export const isLiveKey = (key: string): boolean => /^(sk|rk)_live_/.test(key);

export const isStripeSet = ({ secret_key }: Settings["stripe"]): boolean => secret_key !== "";

/**
 * @param mode of the data directory; null where it is not known
 * @throws BadSetting when half of it is there, or a key that moves money meets a directory of the simulator
 */
export const insistOnStripe = ({ stripe }: Pick<Settings, "stripe">, mode: "test" | "live" | null): void => {
  const { secret_key, webhook_secret } = stripe;
  if (secret_key !== "" && webhook_secret === "")
    throw new BadSetting(
      `${HOOK}: it is missing, and without it no payment is credited; make an endpoint for /webhooks/stripe at Stripe and set its secret, or unset ${KEY}`,
    );
  if (secret_key === "" && webhook_secret !== "")
    throw new BadSetting(`${KEY}: it is missing, and without it nothing can be bought; set it, or unset ${HOOK}`);
  if (mode === "test" && isLiveKey(secret_key))
    throw new BadSetting(
      `${KEY}: a live key would take money for simulated results; use a test key (sk_test_…), or no --simulate`,
    );
};
