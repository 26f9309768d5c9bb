// Orders over HTTP, one account after the other, each with a key of its own: what both submitters send.

export type OrdersPlan = { url: string; keys: readonly string[]; body: string };

/** What a start submits at once: more would be a storm at the door and not a load. */
export const AT_A_TIME = 64;

export const openOrders = (plan: OrdersPlan) => {
  const tag = crypto.randomUUID();
  let sent = 0;
  let unanswered = 0;
  return {
    unanswered: () => unanswered,
    /** @throws when it is not accepted. */
    submit: async (): Promise<void> => {
      const n = sent++;
      unanswered += 1;
      const response = await fetch(`${plan.url}/v1/generations`, {
        ...{ method: "POST", body: plan.body },
        headers: {
          authorization: `Bearer ${plan.keys[n % plan.keys.length]}`,
          "content-type": "application/json",
          "idempotency-key": `${tag}-${n}`,
        },
      });
      const text = await response.text();
      if (response.status !== 202) throw new Error(`a submission was answered ${response.status}: ${text.slice(0, 300)}`);
      unanswered -= 1;
    },
  };
};
