// Bucket addresses: Amazon, other services with path or host style, ports, paths and special characters.
import { expect, test } from "bun:test";
import { type BucketSettings, bucketConfigOf } from "../../../src/files/s3/bucket-config.ts";

const BASE: BucketSettings = {
  endpoint: "",
  region: "eu-central-1",
  bucket: "results",
  prefix: "",
  access_key: "a",
  secret_key: "b",
};
const addressOf = (more: Partial<BucketSettings>): string => {
  const place = bucketConfigOf({ ...BASE, ...more });
  return place.url(place.nameOf("gen_1", 2)).href;
};

test.each<[string, Partial<BucketSettings>, string]>([
  ["Amazon", {}, "https://results.s3.eu-central-1.amazonaws.com/gen_1/2"],
  ["Amazon in China", { region: "cn-north-1" }, "https://results.s3.cn-north-1.amazonaws.com.cn/gen_1/2"],
  ["a bucket with dots", { bucket: "my.results" }, "https://s3.eu-central-1.amazonaws.com/my.results/gen_1/2"],
  ["another service", { endpoint: "https://s3.example.com" }, "https://s3.example.com/results/gen_1/2"],
  ["an endpoint with a slash at its end", { endpoint: "https://s3.example.com/" }, "https://s3.example.com/results/gen_1/2"],
  ["an endpoint with a port and a path", { endpoint: "http://nas:9000/s3/v 1/" }, "http://nas:9000/s3/v%201/results/gen_1/2"],
  [
    "an endpoint with the bucket in its host",
    { endpoint: "https://{bucket}.oss.example.com" },
    "https://results.oss.example.com/gen_1/2",
  ],
  ["a prefix", { endpoint: "http://nas", prefix: "a/b-" }, "http://nas/results/a/b-gen_1/2"],
  [
    "a prefix with special characters",
    { endpoint: "http://nas", prefix: "ü (1)+%/" },
    "http://nas/results/%C3%BC%20%281%29%2B%25/gen_1/2",
  ],
])("builds the object URL for %s", (_name, more, address) => {
  expect(addressOf(more)).toBe(address);
});

test("builds the URL of the bucket with its query in the order of the signature", () => {
  const place = bucketConfigOf({ ...BASE, endpoint: "http://nas:9000" });
  expect(place.url(null, { uploads: "", prefix: "a/b" }).href).toBe("http://nas:9000/results?prefix=a%2Fb&uploads=");
});
