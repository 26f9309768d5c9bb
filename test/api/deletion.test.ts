// Tests of the deletion of a generation over HTTP: what is erased, what stays, and what is refused.
import { afterEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/domain/types.ts";
import { StorageUnavailable } from "../../src/files/port.ts";
import type { Harness } from "../harness.ts";
import { codeOf, messageOf, occupy, openApiHarness } from "./harness.ts";
import { sampleBytes, uploaded } from "./upload-requests.ts";

let harness: Harness;
const open = async (options: Parameters<typeof openApiHarness>[0] = {}) => {
  harness = await openApiHarness(options);
  return harness;
};
afterEach(() => harness.close());

const MODEL = "sim-image-1";
const WORD = "zanzibar";
const INPUT = { prompt: `a ${WORD} kite` };
const LABELS = { "genrouter-metadata": `{"project":"${WORD}"}`, "genrouter-end-user": `${WORD}-7` };

const remove = (id: string, key?: string) => harness.request("DELETE", `/v1/generations/${id}`, key === undefined ? {} : { key });
const recordOf = async (id: string) => {
  const found = await harness.store.findGeneration(id);
  if (!found) throw new Error(`there is no generation ${id}`);
  return found;
};
const submitWith = (headers: Record<string, string>, input: JsonObject = INPUT, model = MODEL) =>
  harness.request("POST", "/v1/generations", { body: { model, input }, headers });
const succeed = async (headers: Record<string, string> = {}, input: JsonObject = INPUT, model = MODEL) => {
  const id = String((await submitWith(headers, input, model)).body.id);
  const shown = await harness.until(id);
  expect(shown.status).toBe("succeeded");
  return shown;
};
const contentOf = (id: string, n = "") => harness.request("GET", `/v1/generations/${id}/content${n}`);
/** Everything that the store has about a generation. */
const storedText = async (id: string): Promise<string> => {
  const { seq } = await recordOf(id);
  const { store } = harness;
  return JSON.stringify([
    await recordOf(id),
    await store.inputOf(seq),
    await store.attemptsOf(seq),
    await store.eventsOf(seq),
    await store.inputFilesOf(seq),
  ]);
};

describe("a deleted generation", () => {
  test("has no prompt, input, metadata and end user any more, and keeps its status, its cost and its transfers", async () => {
    await open();
    const { id } = await succeed(LABELS);
    expect((await storedText(id)).split(WORD).length).toBeGreaterThan(4);
    const before = await harness.show(id);
    const [balance, transfers] = [await harness.balance(), await harness.store.transfersOf((await recordOf(id)).seq)];
    const { status, body } = await remove(id);
    expect([status, body]).toEqual([
      200,
      { id, object: "generation", deleted: true, erased_at: expect.any(String), backups: [] },
    ]);
    expect(await storedText(id)).not.toContain(WORD);
    const { metadata: _, end_user: __, output: ___, ...rest } = before as never as JsonObject;
    const after = await harness.show(id);
    expect(after).toMatchObject(rest as never);
    expect([Object.hasOwn(after, "metadata"), Object.hasOwn(after, "end_user")]).toEqual([false, false]);
    expect([await harness.balance(), await harness.store.transfersOf((await recordOf(id)).seq)]).toEqual([balance, transfers]);
  });

  test("is not in a list by its metadata, and is in the list of all", async () => {
    await open();
    const { id } = await succeed(LABELS);
    const listed = async (query: string) =>
      ((await harness.request("GET", `/v1/generations${query}`)).body.data as { id: string }[]).map((one) => one.id);
    const byMetadata = `?metadata[project]=${WORD}`;
    expect(await listed(byMetadata)).toEqual([id]);
    await remove(id);
    expect([await listed(byMetadata), await listed("")]).toEqual([[], [id]]);
  });

  test("is replayed under its Idempotency-Key, and another request under it is a conflict", async () => {
    await open();
    const key = { "idempotency-key": "once" };
    const { id } = await succeed(key);
    await remove(id);
    const again = await submitWith(key);
    expect([again.status, again.body.id]).toEqual([200, id]);
    const other = await submitWith(key, { prompt: "another" });
    expect([other.status, codeOf(other)]).toEqual([409, "idempotency_conflict"]);
  });

  test("answers 404 for its files at every address, as after their retention", async () => {
    await open();
    const { id, output } = await succeed();
    const links = output?.urls ?? [];
    expect([(await contentOf(id)).status, (await fetch(links[0] ?? "")).status]).toEqual([200, 200]);
    await remove(id);
    const gone = await contentOf(id);
    expect([gone.status, codeOf(gone), messageOf(gone)]).toEqual([404, "not_found", "files expired"]);
    expect(links.length).toBeGreaterThan(1);
    for (const link of links) expect((await fetch(link)).status).toBe(404);
    expect((await harness.show(id)).output?.urls).toHaveLength(links.length);
    expect(await harness.store.pendingFileRemovals(10)).toEqual([]);
  });

  test("has the same answer when it is deleted again, also at the same time", async () => {
    await open();
    const { id } = await succeed();
    const answers = await Promise.all([remove(id), remove(id), remove(id)]);
    answers.push(await remove(id));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(harness.lines.filter(({ event }) => event === "generation erased")).toMatchObject([
      { fields: { generation_id: id, account_id: harness.tenant.accountId } },
    ]);
  });

  test("keeps no text of a generation that failed", async () => {
    const { simulator } = await open();
    simulator.script({ fault: "refuse" });
    const { id } = (await submitWith(LABELS)).body as { id: string };
    expect(await harness.until(id)).toMatchObject({ status: "failed" });
    expect((await remove(id)).status).toBe(200);
    expect(await storedText(id)).not.toContain(WORD);
    expect(await harness.show(id)).toMatchObject({ status: "failed", cost_usd: 0, error: expect.anything() });
  });
});

describe("a request to delete", () => {
  test("is 409 while the generation is queued or running, and changes nothing", async () => {
    await open({ factor: 0, env: { GENROUTER_LIMITS__MAX_RUNNING: "1" } });
    const running = [];
    for (let node = 0; node < harness.nodes; node += 1) running.push(await occupy(harness, harness.tenant));
    const queued = await harness.submit(MODEL, INPUT);
    for (const [id, status] of [
      [running[0] ?? "", "running"],
      [queued.id, "queued"],
    ] as const) {
      const answer = await remove(id);
      expect([answer.status, codeOf(answer)]).toEqual([409, "not_ended"]);
      expect(messageOf(answer)).toContain(`The generation is ${status}`);
      expect(await recordOf(id)).toMatchObject({ status, erasedAtMs: null });
    }
    expect((await harness.store.inputOf((await recordOf(queued.id)).seq))?.raw).toEqual(INPUT);
  });

  test("is 404 for a generation of another account and for an unknown id, with the same message", async () => {
    await open();
    const { id } = await succeed();
    const { key } = await harness.newTenant();
    const answers = [await remove(id, key), await remove("gen_unknown", key), await remove("%20", key)];
    expect(answers.map((answer) => [answer.status, codeOf(answer)])).toEqual(answers.map(() => [404, "not_found"]));
    expect(new Set(answers.map(messageOf)).size).toBe(1);
    expect((await recordOf(id)).erasedAtMs).toBeNull();
  });

  test("needs a key that may generate, and a limited key deletes only its own generations", async () => {
    const { tenant } = await open();
    const { id } = await succeed();
    const admin = await harness.admin();
    const read = await admin.createKey({ reference: "reader", accountId: tenant.accountId, scope: "read", name: "reader" });
    const refused = await remove(id, read.key);
    expect([refused.status, codeOf(refused)]).toEqual([403, "generation_not_enabled"]);
    const limited = await admin.createKey({
      ...{ reference: "limited", accountId: tenant.accountId, scope: "generate", name: "limited" },
      terms: { limits: { day: 1_000 } },
    });
    expect((await remove(id, limited.key)).status).toBe(404);
    const own = await harness.request("POST", "/v1/generations", { key: limited.key, body: { model: MODEL, input: INPUT } });
    await harness.until(String(own.body.id));
    expect((await remove(String(own.body.id), limited.key)).status).toBe(200);
    expect((await recordOf(id)).erasedAtMs).toBeNull();
  });
});

describe("files of other owners", () => {
  test("an uploaded file that was an input stays", async () => {
    await open();
    const { id: file } = await uploaded(harness, await sampleBytes(harness, "picture.png?width=64&height=64"));
    const { id } = await succeed({}, { prompt: "in oil", image_url: file }, "sim-edit-1");
    await remove(id);
    expect((await harness.request("GET", `/v1/files/${file}/content`)).status).toBe(200);
    expect((await harness.request("DELETE", `/v1/files/${file}`)).status).toBe(200);
  });

  test("a result that an open generation takes as its input is not served, and deleted after the end of that generation", async () => {
    const { simulator } = await open();
    const { id } = await succeed();
    simulator.script({ fault: "stuck", prompt: "in oil" });
    const taker = String((await submitWith({}, { prompt: "in oil", image_url: `${id}/1` }, "sim-edit-1")).body.id);
    await harness.until(taker, ({ status }) => status === "running");
    expect((await remove(id)).status).toBe(200);
    expect((await contentOf(id)).status).toBe(404);
    expect((await recordOf(id)).erasedAtMs).not.toBeNull();
    await harness.request("POST", `/v1/generations/${taker}/cancel`);
    await harness.until(taker);
    const { seq } = await recordOf(id);
    expect(await harness.store.pendingFileRemovals(10)).toEqual([{ seq, id }]);
    await harness.components.sweep();
    expect(await harness.store.pendingFileRemovals(10)).toEqual([]);
  });
});

describe("storage that deletes nothing at the moment", () => {
  test("delays no answer, serves no file, and the sweep deletes the files when it accepts deletions again", async () => {
    let isRefusing = false;
    const removed: string[] = [];
    await open({
      aroundFiles: (files) => ({
        ...files,
        remove: async (id) => {
          if (isRefusing) throw new StorageUnavailable("the bucket is unavailable");
          removed.push(id);
          await files.remove(id);
        },
      }),
    });
    const { id } = await succeed();
    isRefusing = true;
    expect((await remove(id)).status).toBe(200);
    expect((await contentOf(id)).status).toBe(404);
    await expect(harness.components.sweep()).rejects.toThrow("the bucket is unavailable");
    expect(removed).toEqual([]);
    isRefusing = false;
    await harness.components.sweep();
    expect(removed).toEqual([id]);
    await harness.components.sweep();
    expect(removed).toEqual([id]);
  });
});

describe("limits.prompt_retention_s", () => {
  const erasedAt = async (id: string) => (await recordOf(id)).erasedAtMs;

  test("erases texts after this time, and keeps files, status and cost", async () => {
    await open({ env: { GENROUTER_LIMITS__PROMPT_RETENTION_S: "600" } });
    const { id } = await succeed(LABELS);
    await harness.components.eraseExpired();
    expect(await erasedAt(id)).toBeNull();
    harness.clock.skip(600_000);
    await harness.components.eraseExpired();
    expect(await storedText(id)).not.toContain(WORD);
    expect(await harness.show(id)).toMatchObject({ status: "succeeded", cost_usd: expect.any(Number) });
    expect((await contentOf(id)).status).toBe(200);
    expect(harness.lines.filter(({ event }) => event === "expired texts erased")).toMatchObject([{ fields: { count: 1 } }]);
    expect((await remove(id)).status).toBe(200);
    expect((await contentOf(id)).status).toBe(404);
  });

  test("is forever without a value, and at the end with 0", async () => {
    await open();
    const { id } = await succeed(LABELS);
    harness.clock.skip(1e11);
    await harness.components.eraseExpired();
    expect(await erasedAt(id)).toBeNull();
    await harness.close();
    await open({ env: { GENROUTER_LIMITS__PROMPT_RETENTION_S: "0" } });
    const other = await succeed(LABELS);
    await harness.eventually(async () => (await erasedAt(other.id)) !== null, "the erasure, without a sweep");
    expect(await storedText(other.id)).not.toContain(WORD);
    expect((await contentOf(other.id)).status).toBe(200);
  });

  test("is replaced by the retention of an account, in either direction", async () => {
    const { tenant } = await open({ env: { GENROUTER_LIMITS__PROMPT_RETENTION_S: "0" } });
    const admin = await harness.admin();
    await admin.setAccount({ id: tenant.accountId, promptRetentionS: "forever" });
    const { id } = await succeed();
    await harness.components.eraseExpired();
    expect(await erasedAt(id)).toBeNull();
    await admin.setAccount({ id: tenant.accountId, promptRetentionS: 0 });
    await harness.components.eraseExpired();
    expect(await erasedAt(id)).not.toBeNull();
  });

  test("of 0 for an account erases at the end of its generations, of failed ones too, and of no other account", async () => {
    const { tenant } = await open();
    const admin = await harness.admin();
    const other = await harness.newTenant();
    await admin.setAccount({ id: tenant.accountId, promptRetentionS: 0 });
    await harness.components.learnRetentions();
    const body = { model: MODEL, input: INPUT };
    const foreign = String((await harness.request("POST", "/v1/generations", { key: other.key, body })).body.id);
    await harness.until(foreign, undefined, other.key);
    const posted = await Promise.all(["a kite", "two kites", "[sim:fail]"].map((prompt) => submitWith(LABELS, { prompt })));
    const ids = posted.map((answered) => String(answered.body.id));
    await harness.eventually(
      async () => (await Promise.all(ids.map(erasedAt))).every((at) => at !== null),
      "the erasure of all, without a sweep",
    );
    expect(await erasedAt(foreign)).toBeNull();
    await admin.setAccount({ id: tenant.accountId, promptRetentionS: null });
    await harness.components.learnRetentions();
    expect(harness.components.watch.committed).toBeNull();
  });

  test("erases more generations than one batch, and none of another account", async () => {
    const { tenant } = await open();
    const ids = await Promise.all(Array.from({ length: 60 }, async () => (await succeed()).id));
    const other = await harness.newTenant();
    const foreign = String(
      (await harness.request("POST", "/v1/generations", { key: other.key, body: { model: MODEL, input: INPUT } })).body.id,
    );
    await harness.until(foreign, undefined, other.key);
    await (await harness.admin()).setAccount({ id: tenant.accountId, promptRetentionS: 0 });
    await harness.components.eraseExpired();
    expect((await Promise.all(ids.map(erasedAt))).filter((at) => at === null)).toEqual([]);
    expect(await erasedAt(foreign)).toBeNull();
  });
});
