// An answer with the result inside that reaches a node while its bucket is away is on the node's disk, and counts after the node was killed.
import { afterAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { run, start } from "../../proof/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { dropDirs, freshDir } from "../cli/fresh-dir.ts";
import { startBucket } from "../cluster/bucket.ts";
import { eventually } from "../eventually.ts";
import { openServer } from "../postgres/server.ts";

afterAll(dropDirs);

type Shown = { id: string; status: string; attempts: number; output: { urls: string[] } | null };

test("A2: what came inside an answer while the bucket was away is delivered by the next start, and nothing is bought again", async () => {
  const [server, dir, place] = [await openServer(), freshDir(), join(freshDir(), "bucket")];
  let bucket = await startBucket(place);
  const env = {
    ...bucket.settings("a2/"),
    GENROUTER_STORE__URL: server.url("postgres"),
    GENROUTER_DATA__DIR: dir,
    GENROUTER_SIMULATOR__SPEED: "0.4",
  };
  const serve = async () => {
    const node = start([...PROGRAM, "serve", "--simulate", "--port", "0"], env);
    const [, url = "", key = ""] = await node.hears(/^url (\S+)\nkey (\S+)$/m);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const ask = async (path: string, init: RequestInit = {}) =>
      (await (await fetch(`${url}/v1${path}`, { ...init, headers })).json()) as Shown;
    return { node, ask };
  };
  const spooled = () => readdirSync(join(dir, "outcomes")).filter((name) => name.endsWith(".json"));
  const first = await serve();
  // Its only provider answers with the sound itself, and cannot be asked afterwards.
  const body = JSON.stringify({ model: "eleven-flash-v2.5", input: { prompt: "a word" } });
  const { id } = await first.ask("/generations", { method: "POST", body });
  const trace = async () => (await run([...PROGRAM, "trace", id, "--json"], env)).said;
  await eventually(async () => (await trace()).includes("running.submitting.sending"), "a request that is out");
  bucket.child.kill("SIGKILL");
  await bucket.child.ended;
  expect(await eventually(() => spooled().length === 1 && spooled()[0], "an answer on disk")).toBe(
    `${id.slice("gen_".length)}-1.json`,
  );
  first.node.kill("SIGKILL");
  await first.node.ended;
  bucket = await startBucket(place, bucket.port);
  // Its simulator is a new one, which knows of no job.
  const second = await serve();
  try {
    const ended = await eventually(async () => {
      const shown = await second.ask(`/generations/${id}`);
      return ["succeeded", "failed"].includes(shown.status) && shown;
    }, "its end");
    expect(ended).toMatchObject({ status: "succeeded", attempts: 1, output: { urls: [expect.any(String)] } });
    await eventually(() => spooled().length === 0, "an empty spool");
  } finally {
    second.node.kill("SIGKILL");
    await second.node.ended;
    bucket.child.kill("SIGKILL");
    await server.stop();
  }
}, 120_000);
