// Outcome spool: a provider response received during an outage survives the kill of the node.
import { afterAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { run } from "../../src/torture/crash/processes.ts";
import { serveSimulating } from "../api-multi-node/simulating.ts";
import { PROGRAM } from "../built.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { type BucketServer, startBucket } from "../cluster/bucket.ts";
import { eventually } from "../eventually.ts";
import { openServer, type Server } from "../postgres/server.ts";

afterAll(dropDirs);

type Place = { server: Server; bucket: BucketServer; bucketDir: string };

test.each([
  [
    "during a database outage",
    "0.1",
    async (place: Place) => {
      await place.server.kill("fast");
      return async () => void (await place.server.start());
    },
  ],
  [
    "during a bucket outage",
    "0.4",
    async (place: Place) => {
      const { port, child } = place.bucket;
      child.kill("SIGKILL");
      await child.ended;
      return async () => {
        place.bucket = await startBucket(place.bucketDir, port);
      };
    },
  ],
  [
    "while the bucket hangs",
    "0.4",
    async ({ bucket }: Place) => {
      bucket.child.kill("SIGSTOP");
      return async () => bucket.child.kill("SIGCONT");
    },
  ],
] as const)(
  "the next start delivers a result that the provider sent %s and submits no second job",
  async (_, speed, moveAside) => {
    const [dir, bucketDir] = [freshDir(), join(freshDir(), "bucket")];
    const place: Place = { server: await openServer(), bucket: await startBucket(bucketDir), bucketDir };
    const env = {
      ...place.bucket.settings("a2/"),
      GENROUTER_STORE__URL: place.server.url("postgres"),
      GENROUTER_DATA__DIR: dir,
      GENROUTER_SIMULATOR__SPEED: speed,
    };
    const spooled = () => readdirSync(join(dir, "outcomes")).filter((name) => name.endsWith(".json"));
    const first = await serveSimulating(env);
    // The only provider of this model returns the audio in its response and has no job look-up.
    const body = JSON.stringify({ model: "eleven-flash-v2.5", input: { prompt: "a word" } });
    const { id } = await first.ask("/generations", { method: "POST", body });
    const trace = async () => (await run([...PROGRAM, "trace", id, "--json"], env)).output;
    await eventually(async () => (await trace()).includes("running.submitting.sending"), "a sent submission");
    const bringBack = await moveAside(place);
    expect(await eventually(() => spooled().length === 1 && spooled()[0], "a spooled response")).toMatch(
      new RegExp(`^${id.slice("gen_".length)}-1-[0-9]+\\.json$`),
    );
    first.node.kill("SIGKILL");
    await first.node.ended;
    await bringBack();
    // The second node has a new simulator without jobs.
    const second = await serveSimulating(env);
    try {
      const ended = await eventually(async () => {
        const shown = await second.ask(`/generations/${id}`);
        return ["succeeded", "failed"].includes(shown.status) && shown;
      }, "the final status");
      expect(ended).toMatchObject({ status: "succeeded", attempts: 1, output: { urls: [expect.any(String)] } });
      await eventually(() => spooled().length === 0, "an empty spool");
    } finally {
      second.node.kill("SIGKILL");
      await second.node.ended;
      place.bucket.child.kill("SIGKILL");
      await place.server.stop();
    }
  },
  120_000,
);
