// Tests the simulator's file and list faults from the bytes that a client receives.
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import type { FaultName } from "../../src/simulator/faults.ts";
import { createInputFiles } from "../../src/simulator/input-files.ts";
import { testSandbox } from "../sandbox.ts";
import { type Bed, type Body, call, namesOf, openBed, raw, typeOf } from "./fixture.ts";

const MODEL = "maker/video";
const INPUT = { prompt: "p", image_url: "https://pictures.example/a.png", duration: 5 };
const PROVIDERS = ["fal", "replicate"] as const;
type Provider = (typeof PROVIDERS)[number];
let bed: Bed;
beforeAll(async () => {
  bed = await openBed();
});
afterEach(() => bed.simulator.clearScript());
afterAll(() => bed.simulator.stop());

const script = (fault: FaultName, params: Body = {}) => {
  bed.simulator.script({ ...(params as Record<string, never>), fault });
};
/** Faults that a separate test below covers; the others are rows of the table. */
const singles = new Set<FaultName>();
const faultTest = (fault: FaultName, promise: string, run: () => Promise<void>) => {
  singles.add(fault);
  test(`${fault} ${promise}`, run);
};

const finishedFile = async (provider: Provider, endpoint: string, input: Body = INPUT) =>
  (await bed.files(provider, endpoint, input))[0] ?? "";

/** File faults of a clip: status and type of the bytes. */
const FILE: [FaultName, Body, number, string][] = [
  ["missing", {}, 404, "none"],
  ["expired", {}, 403, "none"],
  ["expired", { status: 410 }, 410, "none"],
  ["unreadable", {}, 200, "none"],
  ["html", {}, 200, "none"],
  ["json", {}, 200, "none"],
  ["empty", {}, 200, "none"],
  ["wrong-kind", {}, 200, "png"],
  ["truncated", {}, 200, "mp4"],
];
test.each(FILE)("file fault %s %p: returns %d and bytes of type %s", async (fault, params, status, type) => {
  const whole = (await (await fetch(await finishedFile("fal", MODEL))).bytes()).length;
  script(fault, params);
  for (const provider of PROVIDERS) {
    const answer = await fetch(await finishedFile(provider, MODEL));
    const bytes = await answer.bytes();
    expect([answer.status, typeOf(bytes)]).toEqual([status, type]);
    if (fault === "truncated") expect(bytes.length).toBeLessThan(whole * 0.8);
    if (fault === "empty") expect(bytes.length).toBe(0);
    if (fault === "unreadable") expect(bytes.length).toBeGreaterThan(1000);
    if (fault === "html") expect(answer.headers.get("content-type")).toStartWith("text/html");
    if (fault === "wrong-kind") expect(answer.headers.get("content-type")).toBe("video/mp4");
  }
});

test("wrong-kind delivers a clip in place of a picture", async () => {
  script("wrong-kind");
  expect(typeOf(await (await fetch(await finishedFile("fal", "maker/picture", { prompt: "p" }))).bytes())).toBe("mp4");
});

faultTest("file-cut", "truncates the configured number of downloads", async () => {
  script("file-cut", { fetches: 1 });
  const { pathname } = new URL(await finishedFile("fal", MODEL));
  const broken = await raw(bed.simulator, "GET", pathname);
  expect([broken.how, broken.text.slice(9, 12)]).toEqual(["closed", "200"]);
  expect((await raw(bed.simulator, "GET", pathname)).how).toBe("answered");
});

faultTest("file-5xx", "returns the file only at the third request", async () => {
  script("file-5xx");
  const url = await finishedFile("replicate", MODEL);
  expect([(await fetch(url)).status, (await fetch(url)).status, (await fetch(url)).status]).toEqual([503, 503, 200]);
});

faultTest("elsewhere", "and redirect point to the URL of the rule", async () => {
  script("elsewhere", { url: "http://10.0.0.1/x.mp4", times: 1 });
  expect(await finishedFile("fal", MODEL)).toBe("http://10.0.0.1/x.mp4");
  script("redirect", { url: "http://10.0.0.1/y.mp4" });
  const answer = await fetch(await finishedFile("fal", MODEL), { redirect: "manual" });
  expect([answer.status, answer.headers.get("location")]).toEqual([302, "http://10.0.0.1/y.mp4"]);
});

faultTest("no-file", "reports success without a file", async () => {
  script("no-file");
  expect(await bed.files("fal", MODEL, INPUT)).toEqual([]);
  expect(await bed.files("replicate", MODEL, INPUT)).toEqual([]);
});

/** Complete files that differ from the request: their measures, for an ordered clip of 4 s, 720p, 16:9 with sound. */
const OTHERWISE: [FaultName, Body, Body][] = [
  ["short", { share: 0.25 }, { ms: 1000, width: 1280, height: 720, sound: true }],
  ["long", { share: 1.5 }, { ms: 6000, width: 1280, height: 720, sound: true }],
  ["small", { share: 0.5 }, { ms: 4000, width: 640, height: 360, sound: true }],
  ["wrong-aspect", {}, { ms: 4000, width: 720, height: 1280, sound: true }],
  ["silent", {}, { ms: 4000, width: 1280, height: 720, sound: false }],
];
test.each(OTHERWISE)("file fault %s %p: delivers a complete file that measures %p", async (fault, params, measures) => {
  script(fault, params);
  const asked = { prompt: "p", duration: 4, resolution: "720p", generate_audio: true };
  for (const provider of PROVIDERS)
    expect(await createInputFiles({}, testSandbox).clip(await finishedFile(provider, MODEL, asked))).toMatchObject(measures);
});

faultTest("fewer", "files than ordered are announced and available", async () => {
  script("fewer");
  const [first = "", ...more] = await bed.files("fal", "maker/picture", { prompt: "p", num_images: 3 });
  expect(more).toEqual([]);
  expect([(await fetch(first)).status, (await fetch(first.replace("output-1", "output-2"))).status]).toEqual([200, 404]);
});

faultTest("list-5xx", "and list-hang affect the list only", async () => {
  script("list-5xx", { times: 2 });
  script("list-hang");
  const lists = [`/fal/v1/models/requests/by-endpoint?endpoint_id=${MODEL}`, "/replicate/v1/predictions"];
  for (const path of lists) expect((await raw(bed.simulator, "GET", path)).text).toStartWith("HTTP/1.1 503");
  for (const path of lists) expect((await raw(bed.simulator, "GET", path, undefined, 60)).how).toBe("silence");
  const { body } = await bed.fal(MODEL, INPUT);
  expect((await call(String(body.status_url))).status).toBe(202);
});

test("covers every file and list fault with a row or a test", () => {
  const seen = new Set<FaultName>([...[...FILE, ...OTHERWISE].map(([fault]) => fault), ...singles, "redirect", "list-hang"]);
  expect([...seen].sort()).toEqual(namesOf("file", "list"));
});
