// The work of a peer's worker on an order: the service's upstream calls, pauses, picture, hash and file, without its logic.
import { openKeep } from "../rungs/keep.ts";
import type { Order } from "./front.ts";
import type { Work } from "./queues.ts";

export type TaskPlan = {
  /** Base URL of a provider with fal's queue dialect, and its endpoint. */
  base: string;
  endpoint: string;
  /** First and longest pause between polls, ms. */
  pollEveryMs: readonly [number, number];
  /** The storage of pictures: a directory, or a prefix of a bucket. */
  dir: string;
  bucket?: { endpoint: string; name: string; key: string; prefix: string };
};

const KEY = { authorization: "Key bench" };
const ask = async <T>(url: string): Promise<T> => (await (await fetch(url, { headers: KEY })).json()) as T;
type Job = { request_id: string; status_url: string; response_url: string };

/** Bun's S3 client: one request for each picture, while the service also sends one before and after. */
const openBucketKeep = ({ endpoint, name, key, prefix }: NonNullable<TaskPlan["bucket"]>) => {
  const client = new Bun.S3Client({ endpoint, bucket: name, accessKeyId: key, secretAccessKey: key });
  return async (id: string, bytes: Uint8Array): Promise<void> => {
    await client.write(`${prefix}${id}`, bytes, { type: "image/jpeg" });
  };
};

export const openTask = async ({ base, endpoint, pollEveryMs, dir, bucket }: TaskPlan): Promise<Work> => {
  const keep = bucket ? openBucketKeep(bucket) : await openKeep(dir);
  const [firstMs, longestMs] = pollEveryMs;
  return async ({ id, input }: Order) => {
    const headers = { "content-type": "application/json", ...KEY };
    const job = (await (
      await fetch(`${base}/${endpoint}`, { method: "POST", headers, body: JSON.stringify(input) })
    ).json()) as Job;
    for (let turn = 0; ; turn += 1) {
      await Bun.sleep(Math.max(10, Math.min(longestMs, firstMs * 1.5 ** turn) * (0.85 + 0.3 * Math.random())));
      if ((await ask<{ status: string }>(`${job.status_url}?logs=0`)).status === "COMPLETED") break;
    }
    const { images } = await ask<{ images: { url: string }[] }>(job.response_url);
    // A separate connection, as the service uses for downloads from foreign URLs.
    const bytes = await (await fetch(images[0]?.url ?? "", { keepalive: false, decompress: false })).bytes();
    await new Bun.Image(bytes).metadata();
    new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    await keep(id, bytes);
  };
};
