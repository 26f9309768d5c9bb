// Provider credential: it is sent only to the provider, whatever a response, a redirect or a setting says.
import { describe, expect, test } from "bun:test";
import { createProviders } from "../../src/providers/providers.ts";
import { KEY, never, open, ready } from "./open-providers.ts";
import { taskFor } from "./task.ts";
import { answerOf, openHealthy, openWire } from "./wire.ts";

const nobodys = () => Promise.resolve(false);

describe("the credential", () => {
  test("is sent with the authorization scheme of the provider", async () => {
    using healthy = openHealthy({});
    const { url, seen } = healthy;
    const providers = open({ fal: url, replicate: url });
    for (const provider of ["fal", "replicate"] as const) await providers.submit(ready(providers, { provider }), never);
    expect(seen.map(({ key }) => key)).toEqual([`Key ${KEY}`, `Bearer ${KEY}`]);
  });

  test("is not sent to a URL of another origin from a response, and no connection is opened there", async () => {
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

  test("is received by the test listener when that is the provider", async () => {
    using home = openWire({ asked: (s) => void s.write(answerOf(202, { status: "IN_QUEUE" })) });
    const providers = open({ fal: home.url });
    await providers.poll(taskFor({ job: { jobId: "job-1", urls: { poll: `${home.url}/status` } } }), never);
    expect(home.received()).toContain(KEY);
  });

  test("is not sent to the target of a redirect", async () => {
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

  test("is not sent to a next page of another origin", async () => {
    using foreign = openWire({});
    using healthy = openHealthy({ "GET /predictions": () => ({ results: [], next: `${foreign.url}/predictions?cursor=2` }) });
    const { url } = healthy;
    const outcome = await open({ replicate: url }).find(taskFor({ provider: "replicate" }), never);
    expect(outcome.kind).toBe("unclear");
    expect(foreign.connections()).toBe(0);
  });

  test("is not sent when the request was composed for another host than the configured one", async () => {
    using before = openWire({});
    const request = open({ fal: before.url }).compose(taskFor());
    const outcome = await open({ fal: "http://127.0.0.1:9" }).submit(taskFor({ request }), never);
    expect(outcome).toMatchObject({ kind: "rejected", failure: { class: "config_fault" } });
    expect(before.connections()).toBe(0);
  });

  test("is redacted from the error detail when the provider repeats it", async () => {
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

  test("is redacted when the provider repeats it with JSON escapes", async () => {
    using wire = openWire({ asked: (s) => void s.write(answerOf(401, '{"detail":"no: id\\/0123\\u0034567 \\"so\\""}')) });
    const key = "id/01234567";
    const providers = createProviders({ settings: { replicate: { base_url: wire.url, key } }, isOwned: nobodys });
    const outcome = await providers.submit(ready(providers, { provider: "replicate" }), never);
    expect(outcome).toMatchObject({ failure: { detail: '401: no: [key] "so"' } });
  });

  test("is trimmed, and rejected without being printed if it cannot be a header value", () => {
    const settings = (key: string) => ({ settings: { fal: { key } }, isOwned: nobodys });
    expect(createProviders(settings(`${KEY}\n`)).configured("fal")).toBe(true);
    expect(() => createProviders(settings("two words"))).toThrow(/^providers\.fal\.key: (?!.*two words)/);
  });
});
