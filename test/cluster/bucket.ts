// The S3 bucket of a cluster: a server from an npm package in its own process, and the check of its contents.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Check } from "../../src/torture/crash/audit.ts";
import { type Child, freePort, start } from "../../src/torture/crash/processes.ts";
import { inParallel } from "../../src/torture/crash/quiesce.ts";
import type { Stored } from "../../src/torture/crash/read-store.ts";

const BUCKET = "results";
/** The server is a program for Node. */
const SERVER = `
const S3rver = require("s3rver");
const [port, directory, aheadMs] = process.argv.slice(1);
const Machine = Date;
globalThis.Date = class extends Machine {
  constructor(...parts) {
    if (parts.length === 0) super(Machine.now() + Number(aheadMs));
    else super(...parts);
  }
  static now() { return Machine.now() + Number(aheadMs); }
};
new S3rver({ port: Number(port), directory, silent: true, configureBuckets: [{ name: "${BUCKET}" }] })
  .run().then(() => console.log("listening"));`;

export type BucketServer = { child: Child; port: number; settings(prefix: string): Record<string, string> };

/** @param at The port; absent: a free one. @param aheadMs How far its clock is ahead; a request of another time is refused. */
export const startBucket = async (dir: string, at?: number, aheadMs = 0): Promise<BucketServer> => {
  mkdirSync(dir, { recursive: true });
  const port = at ?? (await freePort());
  const child = start(["node", "-e", SERVER, String(port), dir, String(aheadMs)]);
  await child.hears(/listening/);
  return {
    ...{ child, port },
    settings: (prefix) => {
      // The server removes a folder with its last object, and crashes when an object is written into it at that moment.
      mkdirSync(join(dir, BUCKET, prefix), { recursive: true });
      writeFileSync(join(dir, BUCKET, prefix, ".keep"), "");
      return {
        GENROUTER_FILES__STORE: "s3",
        GENROUTER_S3__ENDPOINT: `http://127.0.0.1:${port}`,
        GENROUTER_S3__REGION: "us-east-1",
        GENROUTER_S3__BUCKET: BUCKET,
        GENROUTER_S3__PREFIX: prefix,
        GENROUTER_S3__ACCESS_KEY: "S3RVER",
        GENROUTER_S3__SECRET_KEY: "S3RVER",
      };
    },
  };
};

/** Reads every file of the succeeded generations through the link of a node to the bucket, and compares it with its record. */
export const checkFiles = async (
  urls: readonly string[],
  keys: readonly string[],
  stored: readonly Stored[],
): Promise<Check & { files: number }> => {
  const faults: string[] = [];
  let files = 0;
  const wanted = stored.flatMap(({ id, account, status, output, erasedAtMs }) =>
    status === "succeeded" && erasedAtMs === null ? (output?.files ?? []).map((file) => ({ id, account, file })) : [],
  );
  await inParallel(wanted, async ({ id, account, file: { n, sha256, bytes } }) => {
    const url = urls[files % urls.length] ?? "";
    files += 1;
    const headers = { authorization: `Bearer ${keys[account]}` };
    const answer = await fetch(`${url}/v1/generations/${id}/content${n === 1 ? "" : `/${n}`}`, { headers, redirect: "manual" });
    const place = answer.headers.get("location");
    if (answer.status !== 302 || place === null) return void faults.push(`${id}/${n}: answered ${answer.status}`);
    const kept = await fetch(place);
    const found = await kept.bytes();
    if (kept.status !== 200) faults.push(`${id}/${n}: the bucket returned ${kept.status}`);
    else if (found.length !== bytes || Bun.SHA256.hash(found, "hex") !== sha256) faults.push(`${id}/${n}: other bytes`);
  });
  return { name: "the files of succeeded generations are in the bucket, byte for byte, through every node", faults, files };
};
