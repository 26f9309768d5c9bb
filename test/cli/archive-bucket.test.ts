// `genrouter archive --to bucket` and `verify --archive bucket` against an S3 server and against a bucket with planted faults.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "../../src/torture/crash/processes.ts";
import { BEFORE_MS, FIRST, fileBooks, LATER_BEFORE_MS } from "../archive/fixture.ts";
import { PROGRAM } from "../built.ts";
import { type BucketServer, startBucket } from "../cluster/bucket.ts";
import { type Asked, openTestBucket, type TestBucket } from "../files/s3/bucket.ts";
import { dropScratch } from "../scratch.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

let data = "";
beforeAll(async () => {
  const books = await fileBooks();
  await books.drop();
  data = "dir" in books.place ? books.place.dir : "";
});
afterAll(dropDirs);
const archiving = (beforeMs = BEFORE_MS) => [
  ...["archive", "--data", data, "--to", "bucket", "--before"],
  new Date(beforeMs).toISOString(),
];
const verifying = (...more: string[]) => ["verify", "--data", data, "--archive", ...more];

describe("archive and verify against an S3 server from a package", () => {
  let dir = "";
  let server: BucketServer;
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "s3rver-"));
    server = await startBucket(join(dir, "objects"));
  });
  afterAll(async () => {
    server.child.kill("SIGKILL");
    await server.child.ended;
    dropScratch(dir);
  });

  test("write an archive, report nothing to archive when repeated, append a second manifest, and verify both", async () => {
    const env = server.settings("a b/");
    const made = await runHere([...archiving(), "--json"], env);
    expect([made.exit as number, JSON.parse(made.out)]).toMatchObject([
      0,
      { archived: true, ok: true, generations: FIRST.generations, movements: FIRST.transfers, charged_usd: 3.15, manifest: 1 },
    ]);
    expect(JSON.parse(made.out)).toMatchObject({
      bucket: "results",
      below: expect.stringMatching(/^a b\/archive\/[0-9a-f]{16}\/$/),
    });
    const again = await runHere(archiving(), env);
    expect([again.exit as number, again.out]).toEqual([0, expect.stringMatching(/^nothing to archive/)]);
    const next = await runHere(archiving(LATER_BEFORE_MS), env);
    expect([next.exit as number, next.out]).toEqual([
      0,
      expect.stringMatching(/as manifest 2 in bucket results, a b\/archive\/[0-9a-f]{16}\/\n$/),
    ]);
    const checked = await runHere(verifying("bucket"), env);
    expect([checked.exit as number, checked.out.match(/✔/g)?.length]).toEqual([0, 6]);
    const alone = await runHere(["verify", "--archive", "bucket", "--alone", "--data", freshDir()], env);
    expect([alone.exit as number, alone.out.match(/✔/g)?.length]).toEqual([0, 5]);
  }, 60_000);
});

describe("archive and verify against a bucket with planted faults", () => {
  let bucket: TestBucket;
  beforeEach(async () => {
    bucket = await openTestBucket(Date.now);
  });
  afterEach(() => bucket.close());

  test("verify exits with 1 and names the object whose bytes were changed", async () => {
    await runHere(archiving(), bucket.settings);
    const name = [...bucket.objects.keys()].find((key) => key.includes("/segments/")) ?? "";
    const kept = bucket.objects.get(name);
    if (!kept) throw new Error("nothing was archived");
    bucket.objects.set(name, { ...kept, bytes: Buffer.alloc(kept.bytes.length) });
    const broken = await runHere([...verifying("bucket"), "--json"], bucket.settings);
    expect([broken.exit as number, JSON.parse(broken.out).ok]).toEqual([1, false]);
    expect(broken.out).toContain(`bucket results, ${name} cannot be unpacked`);
  });

  test("a process that is killed at any of its uploads leaves no archive, and the next run uploads the missing objects", async () => {
    await runHere(archiving(), bucket.settings);
    const whole = [...bucket.objects.keys()].sort();
    bucket.objects.clear();
    for (let kept = 0; kept < whole.length; kept += 1) {
      // The next upload arrives, and the bucket withholds its response until the process has ended.
      let arrived = () => {};
      const isHere = new Promise<void>((resolve) => {
        arrived = resolve;
      });
      const gone = Promise.withResolvers<void>();
      const stop = ({ method }: Asked) => method === "PUT" && bucket.objects.size === kept;
      bucket.hold = (asked) => {
        if (!stop(asked)) return undefined;
        arrived();
        return gone.promise;
      };
      const child = start([...PROGRAM, ...archiving()], bucket.settings);
      await Promise.race([isHere, child.ended]);
      child.kill("SIGKILL");
      expect((await child.ended).code).toBeNull();
      gone.resolve();
      bucket.hold = () => undefined;
      // The bucket stores the object, although its sender received no response.
      while (bucket.objects.size === kept) await Bun.sleep(1);
      if (kept + 1 < whole.length) {
        const none = await runHere([...verifying("bucket"), "--alone"], bucket.settings);
        expect([none.exit as number, none.err]).toEqual([2, expect.stringMatching(/there is no archive in/)]);
      }
    }
    expect([...bucket.objects.keys()].sort()).toEqual(whole);
    expect((await runHere(verifying("bucket"), bucket.settings)).exit as number).toBe(0);
    expect((await runHere(archiving(), bucket.settings)).out).toMatch(/^nothing to archive/);
  }, 120_000);

  test("verify selects the archive of its database among several, and --alone requires the id of one", async () => {
    await runHere(archiving(), bucket.settings);
    const other = await runHere([...verifying("bucket"), "--alone"], bucket.settings);
    expect(other.exit as number).toBe(0);
    const [id = ""] = [...bucket.objects.keys()].map((key) => key.split("/")[1] ?? "");
    bucket.objects.set("archive/0000000000000000/manifest-000001.json", { bytes: Buffer.from("{}"), headers: {} });
    const unclear = await runHere([...verifying("bucket"), "--alone"], bucket.settings);
    expect([unclear.exit as number, unclear.err]).toEqual([
      2,
      expect.stringContaining(`name one, for example bucket:0000000000000000`),
    ]);
    for (const words of [verifying("bucket"), [...verifying(`bucket:${id}`), "--alone"]])
      expect((await runHere(words, bucket.settings)).exit as number).toBe(0);
  });

  test("report a bucket that is unreachable, denies access or does not exist in one line with a remedy", async () => {
    const reported = async (words: string[], env: Record<string, string> = bucket.settings) => {
      const { exit, err, out } = await runHere(words, env);
      expect([out, err.trimEnd().split("\n").length]).toEqual(["", 1]);
      return [exit as number, err];
    };
    bucket.fail = ({ query }) => (query.has("list-type") ? { status: 403, code: "AccessDenied" } : undefined);
    const rights = expect.stringMatching(/the access key lacks a permission; deploy\/S3\.md lists the required ones/);
    expect(await reported(archiving())).toEqual([1, rights]);
    expect(await reported(verifying("bucket"))).toEqual([2, rights]);
    // A response to HEAD has no body, so the message has only the status.
    bucket.fail = ({ method }) => (method === "HEAD" ? { status: 403, code: "AccessDenied" } : undefined);
    expect(await reported(archiving())).toEqual([
      1,
      expect.stringMatching(/returned 403; deploy\/S3\.md lists the settings and the permissions/),
    ]);
    bucket.fail = () => undefined;
    const wrong = { ...bucket.settings, GENROUTER_S3__BUCKET: "another" };
    expect(await reported(archiving(), wrong)).toEqual([
      1,
      expect.stringMatching(/there is no bucket of the name in GENROUTER_S3__BUCKET/),
    ]);
    expect(await reported(verifying("bucket"))).toEqual([
      2,
      expect.stringMatching(/there is no archive in bucket results, archive\//),
    ]);
    expect(await reported([...verifying("bucket"), "--alone"])).toEqual([
      2,
      expect.stringMatching(/there is no archive in bucket results/),
    ]);
    await bucket.interrupt();
    expect(await reported(archiving())).toEqual([
      75,
      expect.stringMatching(/cannot be reached \(\w+\); run the same command again/),
    ]);
    expect(await reported(verifying("bucket"))).toEqual([
      2,
      expect.stringMatching(/cannot be reached \(\w+\); run the same command again/),
    ]);
    await bucket.back();
  });
});

test.each(["s3", "S3:", "s3://acme/archives", "Bucket", "bucket/", "bucket:", "file:///var/archives"])(
  "archive and verify reject %p with exit code 2 because it names neither the bucket nor a directory",
  async (text) => {
    const said = expect.stringContaining("is ambiguous: write bucket for the configured bucket, or ./… for a directory");
    const made = await runHere(["archive", "--data", data, "--before", "1d", "--to", text]);
    expect([made.exit as number, made.err]).toEqual([2, said]);
    const checked = await runHere(verifying(text));
    expect([checked.exit as number, checked.err]).toEqual([2, said]);
  },
);

test("archive rejects --to bucket when no bucket is configured, and rejects --to bucket:ID", async () => {
  const none = await runHere(archiving());
  expect([none.exit as number, none.err]).toEqual([2, expect.stringMatching(/GENROUTER_S3__BUCKET is missing/)]);
  const named = await runHere(["archive", "--data", data, "--before", "1d", "--to", "bucket:0123456789abcdef"]);
  expect([named.exit as number, named.err]).toEqual([2, expect.stringMatching(/is ambiguous/)]);
});
