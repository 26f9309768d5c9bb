// Validates the settings of payments: complete, and of the mode of the data directory.
import { BadSetting, PREFIX, type Settings } from "../config/schema.ts";

const KEY = `${PREFIX}STRIPE__SECRET_KEY`;
const HOOK = `${PREFIX}STRIPE__WEBHOOK_SECRET`;

/** True for a key that moves real money. */
export const isLiveKey = (key: string): boolean => /^(sk|rk)_live_/.test(key);

export const isStripeSet = ({ secret_key }: Settings["stripe"]): boolean => secret_key !== "";

/**
 * @param mode of the data directory; null if unknown
 * @throws BadSetting if the settings are incomplete, or a live key is used with a data directory of the simulator
 */
export const requireStripeSettings = ({ stripe }: Pick<Settings, "stripe">, mode: "test" | "live" | null): void => {
  const { secret_key, webhook_secret } = stripe;
  if (secret_key !== "" && webhook_secret === "")
    throw new BadSetting(
      `${HOOK}: is missing, so no payment could be credited; create an endpoint for /webhooks/stripe at Stripe and set its secret, or unset ${KEY}`,
    );
  if (secret_key === "" && webhook_secret !== "")
    throw new BadSetting(`${KEY}: is missing, so no credits could be bought; set it, or unset ${HOOK}`);
  if (mode === "test" && isLiveKey(secret_key))
    throw new BadSetting(
      `${KEY}: a live key would charge customers for simulated results; use a test key (sk_test_…), or omit --simulate`,
    );
};

const NAME = `${PREFIX}CREDITS__SELLER_NAME`;
const ADDRESS = `${PREFIX}CREDITS__SELLER_ADDRESS`;

/** True if receipts name a seller. */
export const isSellerSet = ({ seller_name }: Pick<Settings["credits"], "seller_name">): boolean => seller_name !== "";

/** @throws BadSetting if the seller of receipts is incomplete */
export const requireSeller = ({ credits }: Pick<Settings, "credits">): void => {
  const { seller_name, seller_address, seller_tax_id } = credits;
  if (seller_name === "" && (seller_address !== "" || seller_tax_id !== ""))
    throw new BadSetting(`${NAME}: is missing, so receipts would have no seller; set it, or unset the other seller settings`);
  if (seller_name !== "" && seller_address.trim() === "")
    throw new BadSetting(`${ADDRESS}: is missing; receipts need the postal address of the seller, or unset ${NAME}`);
};
