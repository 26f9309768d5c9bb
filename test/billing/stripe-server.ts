// A fake Stripe server with the endpoints that the checkout uses: sessions with idempotency keys, refunds and signed events.
import type { Server } from "bun";
import Stripe from "stripe";

export const SECRET_KEY = "sk_test_abcdefgh12345678";
export const WEBHOOK_SECRET = "whsec_abcdefgh12345678";

export type Session = {
  id: string;
  object: "checkout.session";
  status: "open" | "complete" | "expired";
  payment_status: "unpaid" | "paid";
  payment_intent: string | null;
  amount_total: number;
  currency: string;
  url: string | null;
  expires_at: number;
  metadata: Record<string, string>;
  invoice: string | null;
};
export type Refund = { id: string; object: "refund"; amount: number; currency: string; payment_intent: string; status: string };
export type Event = { id: string; object: "event"; type: string; created: number; livemode: boolean; data: { object: object } };
/** A received request: method and path, form and idempotency key. */
export type Asked = { what: string; form: Record<string, string>; idempotencyKey: string | null };

/** How it responds: `well`, `lost` (it creates the session but returns 500), or `failing` (always 500). */
export type Mood = "well" | "lost" | "failing";

/** @param nowMs the time of its events */
export const openStripe = (nowMs: () => number = Date.now) => {
  /** All events, oldest first. */
  const reported: Event[] = [];
  let mayReadEvents = true;
  const sessions = new Map<string, Session>();
  const refunds: Refund[] = [];
  const asked: Asked[] = [];
  /** Checkouts and payments that cannot be read, in any mood. */
  const shut = new Set<string>();
  const answered = new Map<string, { form: string; session: Session }>();
  let mood: Mood = "well";
  let made = 0;

  const fail = (status: number, error: Record<string, string>) => Response.json({ error }, { status });
  const create = (form: URLSearchParams, key: string | null): Response => {
    const known = key === null ? undefined : answered.get(key);
    if (known && known.form !== form.toString())
      return fail(400, {
        type: "idempotency_error",
        message: "Keys for idempotent requests can only be used with the same parameters",
      });
    const expires = Number(form.get("expires_at"));
    const n = ++made;
    const session: Session = known?.session ?? {
      id: `cs_test_${n}`,
      object: "checkout.session",
      status: "open",
      payment_status: "unpaid",
      payment_intent: null,
      amount_total: Number(form.get("line_items[0][price_data][unit_amount]")),
      currency: form.get("line_items[0][price_data][currency]") ?? "",
      url: `https://checkout.stripe.example/c/cs_test_${n}`,
      expires_at: expires,
      metadata: Object.fromEntries(
        ["purchase_id", "account_id", "credits"].map((name) => [name, form.get(`metadata[${name}]`) ?? ""]),
      ),
      invoice: null,
    };
    sessions.set(session.id, session);
    if (key !== null) answered.set(key, { form: form.toString(), session });
    return mood === "lost" ? fail(500, { type: "api_error", message: "lost" }) : Response.json(session);
  };

  const answer = async (request: Request): Promise<Response> => {
    const url = new URL(request.url);
    const form = new URLSearchParams(await request.text());
    const key = request.headers.get("idempotency-key");
    asked.push({ what: `${request.method} ${url.pathname}`, form: Object.fromEntries(form), idempotencyKey: key });
    if (request.headers.get("authorization") !== `Bearer ${SECRET_KEY}`) return fail(401, { type: "invalid_request_error" });
    if (mood === "failing") return fail(500, { type: "api_error", message: "down" });
    if (request.method === "POST" && url.pathname === "/v1/checkout/sessions") return create(form, key);
    if (url.pathname.startsWith("/v1/checkout/sessions/")) {
      const session = sessions.get(url.pathname.split("/")[4] ?? "");
      if (session && request.method === "POST" && url.pathname.endsWith("/expire")) {
        if (session.status !== "open")
          return fail(400, {
            type: "invalid_request_error",
            message: 'Only Checkout Sessions with a status in ["open"] can be expired.',
          });
        session.status = "expired";
        session.url = null;
        return Response.json(session);
      }
      if (session && shut.has(session.id)) return fail(403, { type: "invalid_request_error", message: "no permission" });
      if (!session) return fail(404, { type: "invalid_request_error", code: "resource_missing", message: "No such session" });
      const invoice =
        session.invoice === null
          ? null
          : {
              id: session.invoice,
              object: "invoice",
              number: "A-0001",
              hosted_invoice_url: `https://invoice.stripe.example/${session.invoice}`,
            };
      return Response.json({ ...session, invoice: url.searchParams.get("expand[0]") === "invoice" ? invoice : session.invoice });
    }
    if (url.pathname === "/v1/events") {
      const ask = url.searchParams;
      if (!mayReadEvents) return fail(403, { type: "invalid_request_error", message: "no permission" });
      const types = [...ask].filter(([name]) => name.startsWith("types[")).map(([, type]) => type);
      const all = reported
        .filter(({ type, created }) => types.includes(type) && created >= Number(ask.get("created[gte]")))
        .reverse();
      const from = all.findIndex(({ id }) => id === ask.get("starting_after")) + 1;
      const data = all.slice(from, from + Number(ask.get("limit")));
      return Response.json({ object: "list", data, has_more: from + data.length < all.length, url: "/v1/events" });
    }
    if (url.pathname === "/v1/refunds") {
      const of = url.searchParams.get("payment_intent") ?? "";
      if (shut.has(of)) return fail(404, { type: "invalid_request_error", code: "resource_missing", message: "No such payment" });
      const data = refunds.filter(({ payment_intent }) => payment_intent === of);
      return Response.json({ object: "list", data, has_more: false, url: "/v1/refunds" });
    }
    return fail(404, { type: "invalid_request_error" });
  };
  const server: Server<undefined> = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: answer });

  const event = (type: string, object: object): Event => {
    const one: Event = {
      ...{ id: `evt_${reported.length + 1}`, object: "event", type, livemode: false },
      ...{ created: Math.floor(nowMs() / 1000), data: { object: structuredClone(object) } },
    };
    reported.push(one);
    return one;
  };
  const sessionOf = (purchaseId: string): Session => {
    const found = [...sessions.values()].find(({ metadata }) => metadata.purchase_id === purchaseId);
    if (!found) throw new Error(`Stripe has no checkout of ${purchaseId}`);
    return found;
  };
  return {
    /** Settings of a service that uses this server. */
    env: {
      GENROUTER_STRIPE__SECRET_KEY: SECRET_KEY,
      GENROUTER_STRIPE__WEBHOOK_SECRET: WEBHOOK_SECRET,
      GENROUTER_STRIPE__API_URL: `http://127.0.0.1:${server.port}`,
    },
    asked,
    shut,
    sessions,
    sessionOf,
    reported,
    /** Sets whether the key has the permission to read events. */
    letReadEvents: (may: boolean) => {
      mayReadEvents = may;
    },
    be: (next: Mood) => {
      mood = next;
    },
    event,
    /** Pays a checkout as the customer. @returns its event */
    pay: (purchaseId: string, changes: Partial<Session> = {}): Event => {
      const session = sessionOf(purchaseId);
      const n = session.id.replace("cs_test_", "");
      Object.assign(session, {
        status: "complete",
        payment_status: "paid",
        payment_intent: `pi_${n}`,
        invoice: `in_${n}`,
        url: null,
        ...changes,
      });
      return event("checkout.session.completed", session);
    },
    expire: (purchaseId: string): Event =>
      event("checkout.session.expired", Object.assign(sessionOf(purchaseId), { status: "expired", url: null })),
    /** Refunds a part of a payment as the operator. @returns its events as Stripe sends them */
    refund: (
      paymentIntent: string,
      amount: number,
      id = `re_${refunds.length + 1}`,
    ): { refunded: Event; created: Event; failed: () => Event } => {
      const refund: Refund = {
        id,
        object: "refund",
        amount,
        currency: "usd",
        payment_intent: paymentIntent,
        status: "succeeded",
      };
      refunds.push(refund);
      const amount_refunded = refunds
        .filter((one) => one.payment_intent === paymentIntent)
        .reduce((sum, one) => sum + one.amount, 0);
      return {
        refunded: event("charge.refunded", { id: "ch_1", object: "charge", payment_intent: paymentIntent, amount_refunded }),
        created: event("refund.created", refund),
        failed: () => event("refund.failed", Object.assign(refund, { status: "failed" })),
      };
    },
    dispute: (type: string, paymentIntent: string, amount: number, status: string): Event =>
      event(`charge.dispute.${type}`, {
        id: `dp_${paymentIntent}`,
        object: "dispute",
        amount,
        currency: "usd",
        payment_intent: paymentIntent,
        status,
      }),
    stop: () => server.stop(true),
  };
};
export type StripeServer = ReturnType<typeof openStripe>;

const { webhooks } = new Stripe(SECRET_KEY);
const TOLERANCE_S = 300;

/** Sends an event to a service as Stripe does. @param more faults of the delivery */
export const deliver = async (
  url: string,
  event: Event | string,
  more: { secret?: string; ageS?: number; signature?: string | null; tampered?: string } = {},
): Promise<{ status: number; text: string }> => {
  const payload = typeof event === "string" ? event : JSON.stringify(event);
  const timestamp = Math.floor(Date.now() / 1000) - (more.ageS ?? 0);
  const made = await webhooks.generateTestHeaderStringAsync({ payload, secret: more.secret ?? WEBHOOK_SECRET, timestamp });
  const signature = more.signature === undefined ? made : more.signature;
  const response = await fetch(`${url}/webhooks/stripe`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(signature === null ? {} : { "stripe-signature": signature }) },
    body: more.tampered ?? payload,
  });
  return { status: response.status, text: await response.text() };
};
/** An age at which an event is stale, in seconds. */
export const STALE_S = TOLERANCE_S + 10;
