// The credential: it goes to the provider and to nobody else, whatever an answer, a redirect or a setting says.
import { describe, expect, test } from "bun:test";
import { createProviders } from "../../src/providers/providers.ts";
import { KEY, never, open, ready } from "./open-providers.ts";
import { taskFor } from "./task.ts";
import { answerOf, openHealthy, openWire } from "./wire.ts";

const nobodys = () => Promise.resolve(false);

describe("the credential", () => {
  test("goes to the provider, in its own word", async () => {
    using healthy = openHealthy({});
    const { url, seen } = healthy;
    const providers = open({ fal: url, replicate: url });
    for (const provider of ["fal", "replicate"] as const) await providers.submit(ready(providers, { provider }), never);
    expect(seen.map(({ key }) => key)).toEqual([`Key ${KEY}`, `Bearer ${KEY}`]);
  });

  test("is not given to an address from an answer that is elsewhere: nobody is even called there", async () => {
    using foreign = openWire({ asked: (s) => void s.write(answerOf(200, { status: "COMPLETED" })) });
    using healthy = openHealthy({ "GET /status": () => ({ status: "COMPLETED" }) });
    const { url, seen } = healthy;
    const providers = open({ fal: url });
    const stolen = { poll: `${foreign.url}/status`, result: `${foreign.url}/result`, cancel: `${foreign.url}/cancel` };
    const task = taskFor({ job: { jobId: "job-1", urls: stolen } });
    expect(await providers.poll(task, never)).toMatchObject({
      kind: "unclear",
      detail: expect.stringContaining("not an address"),
    });
    expect(await providers.cancel(task, never)).toBe(false);
    const half = taskFor({ job: { jobId: "job-1", urls: { poll: `${url}/status`, result: `${foreign.url}/result?sig=1` } } });
    const outcome = await providers.poll(half, never);
    expect(outcome).toMatchObject({ kind: "unclear" });
    expect(JSON.stringify(outcome)).not.toContain("sig=1");
    expect(seen.map(({ line }) => line)).toEqual(["GET /status"]);
    expect(foreign.connections()).toBe(0);
  });

  test("would be seen by that listener if it were the provider", async () => {
    using home = openWire({ asked: (s) => void s.write(answerOf(202, { status: "IN_QUEUE" })) });
    const providers = open({ fal: home.url });
    await providers.poll(taskFor({ job: { jobId: "job-1", urls: { poll: `${home.url}/status` } } }), never);
    expect(home.received()).toContain(KEY);
  });

  test("is not carried along by a redirect", async () => {
    using foreign = openWire({ asked: (s) => void s.write(answerOf(200, { request_id: "stolen" })) });
    using wire = openWire({ asked: (s) => void s.write(answerOf(307, "", { location: foreign.url })) });
    const providers = open({ fal: wire.url, replicate: wire.url });
    for (const provider of ["fal", "replicate"] as const) {
      await providers.submit(ready(providers, { provider }), never);
      await providers.poll(taskFor({ provider, job: { jobId: "job-1" } }), never);
      await providers.find(taskFor({ provider }), never);
      await providers.cancel(taskFor({ provider, job: { jobId: "job-1" } }), never);
    }
    expect(wire.requests.length).toBe(8);
    expect(foreign.connections()).toBe(0);
  });

  test("is not given to the next page of a list when that is elsewhere", async () => {
    using foreign = openWire({});
    using healthy = openHealthy({ "GET /predictions": () => ({ results: [], next: `${foreign.url}/predictions?cursor=2` }) });
    const { url } = healthy;
    const outcome = await open({ replicate: url }).find(taskFor({ provider: "replicate" }), never);
    expect(outcome.kind).toBe("unclear");
    expect(foreign.connections()).toBe(0);
  });

  test("stays here when the settings name another host than the one composed for", async () => {
    using before = openWire({});
    const request = open({ fal: before.url }).compose(taskFor());
    const outcome = await open({ fal: "http://127.0.0.1:9" }).submit(taskFor({ request }), never);
    expect(outcome).toMatchObject({ kind: "rejected", failure: { class: "config_fault" } });
    expect(before.connections()).toBe(0);
  });

  test("that a provider repeats in its words is not in ours", async () => {
    using healthy = openHealthy({
      "POST /models/bytedance/seedance-2.0/predictions": () =>
        Response.json({ detail: `Invalid token ${KEY}, see https://x.example/?token=${KEY}` }, { status: 401 }),
    });
    const { url } = healthy;
    const providers = open({ replicate: url });
    const outcome = await providers.submit(ready(providers, { provider: "replicate" }), never);
    expect(outcome).toEqual({
      kind: "rejected",
      failure: { class: "config_fault", detail: "401: Invalid token [key], see https://x.example/" },
      isOfAccount: true,
    });
  });

  test("that is repeated in other letters of JSON is not in ours either", async () => {
    using wire = openWire({ asked: (s) => void s.write(answerOf(401, '{"detail":"no: id\\/0123\\u0034567 \\"so\\""}')) });
    const key = "id/01234567";
    const providers = createProviders({ settings: { replicate: { base_url: wire.url, key } }, isOwned: nobodys });
    const outcome = await providers.submit(ready(providers, { provider: "replicate" }), never);
    expect(outcome).toMatchObject({ failure: { detail: '401: no: [key] "so"' } });
  });

  test("with a line break around it is trimmed; one that cannot be a header is named, not shown", () => {
    const settings = (key: string) => ({ settings: { fal: { key } }, isOwned: nobodys });
    expect(createProviders(settings(`${KEY}\n`)).configured("fal")).toBe(true);
    expect(() => createProviders(settings("two words"))).toThrow(/^providers\.fal\.key: (?!.*two words)/);
  });
});
