// The service with a webhook receiver whose address every account may use.
import { expect } from "bun:test";
import type { JsonObject } from "../../src/domain/types.ts";
import { type Harness, type HarnessOptions, openHarness, type Tenant } from "../harness.ts";
import { openReceiver, type Receiver } from "./receiver.ts";

export type EndpointResource = { id: string; url: string; enabled: boolean; disabled_reason: string | null; secret: string };
export type DeliveryResource = {
  id: string;
  type: string;
  state: string;
  generation: string | null;
  endpoint: string | null;
  next_try_at: string | null;
  tries: { status: number | null; answer: string | null; error: string | null }[];
};

export type WebhookScene = Harness & {
  receiver: Receiver;
  /** Creates an endpoint and expects 201. */
  endpoint(fields?: JsonObject, tenant?: Tenant): Promise<EndpointResource>;
  endpoints(tenant?: Tenant): Promise<EndpointResource[]>;
  deliveries(tenant?: Tenant): Promise<DeliveryResource[]>;
  /** Waits until no delivery of the tenant is pending. */
  settled(tenant?: Tenant): Promise<DeliveryResource[]>;
  post(path: string, body?: JsonObject, tenant?: Tenant): ReturnType<Harness["request"]>;
  /** A generation of the tenant from submission to its end. @returns its id */
  generate(prompt?: string, tenant?: Tenant, headers?: Record<string, string>): Promise<string>;
};

export const PROMPT = "a red kite over dunes";

export const openWebhooks = async (options: HarnessOptions = {}, receiver: Receiver = openReceiver()): Promise<WebhookScene> => {
  const harness = await openHarness({ ...options, env: { GENROUTER_WEBHOOKS__ALLOW: "127.0.0.1", ...options.env } });
  const { tenant: first, request } = harness;
  const listed = async <T>(path: string, { key }: Tenant): Promise<T[]> => {
    const { status, body } = await request("GET", path, { key });
    expect(status).toBe(200);
    return body.data as unknown as T[];
  };
  const deliveries = (tenant = first) => listed<DeliveryResource>("/v1/webhook_deliveries?limit=100", tenant);
  const post: WebhookScene["post"] = (path, body, tenant = first) =>
    request("POST", path, { key: tenant.key, ...(body === undefined ? {} : { body }) });
  return {
    ...harness,
    receiver,
    deliveries,
    post,
    endpoint: async (fields = {}, tenant = first) => {
      const { status, body, text } = await post("/v1/webhook_endpoints", { url: receiver.url, ...fields }, tenant);
      if (status !== 201) throw new Error(`the endpoint was answered ${status} ${text}`);
      return body as unknown as EndpointResource;
    },
    endpoints: (tenant = first) => listed<EndpointResource>("/v1/webhook_endpoints", tenant),
    settled: (tenant = first) =>
      harness.eventually(async () => {
        const all = await deliveries(tenant);
        return all.length > 0 && all.every(({ state }) => state !== "pending") && all;
      }, "the end of all deliveries"),
    generate: async (prompt = PROMPT, tenant = first, headers = {}) => {
      const { status, body, text } = await request("POST", "/v1/generations", {
        key: tenant.key,
        headers,
        body: { model: "sim-image-1", input: { prompt } },
      });
      if (status !== 202) throw new Error(`the submission was answered ${status} ${text}`);
      const id = String(body.id);
      await harness.until(id, undefined, tenant.key);
      return id;
    },
  };
};
