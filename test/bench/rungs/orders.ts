// Submissions of both submitters over HTTP: accounts in turn, each submission with a unique idempotency key.

export type OrdersPlan = { url: string; keys: readonly string[]; body: string };

/** The number that a start submits at once: more would be a burst and no steady load. */
export const AT_A_TIME = 64;

export const openOrders = (plan: OrdersPlan) => {
  const tag = crypto.randomUUID();
  let sent = 0;
  let unanswered = 0;
  return {
    unanswered: () => unanswered,
    /** @throws if it is not accepted. */
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
