// A service in live mode at an address of this machine, and a simulator in another process as its providers: a local file arrives unchanged.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { type Child, freePort, start } from "../../src/torture/crash/processes.ts";
import { PROGRAM } from "../built.ts";
import { runHere } from "./captured.ts";
import { dropDirs, freshDir } from "./fresh-dir.ts";

/** An IPv4 address of this machine that other machines may reach; loopback, which is private too, if it has none. */
const address = (): string =>
  Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.2";

type Job = { provider: string; inputs?: { bytes: number; sha256: string }[] };
/** Routes that take files in one form each. */
const CASES = [
  { provider: "fal", form: "upload", model: "flux-kontext-pro", links: "off" },
  { provider: "replicate", form: "upload", model: "flux-kontext-pro", links: "off" },
  { provider: "bfl", form: "inline data", model: "flux-kontext-pro", links: "off" },
  { provider: "openai", form: "multipart request", model: "gpt-image-2", links: "off" },
  { provider: "fal", form: "signed link", model: "flux-kontext-pro", links: "auto" },
] as const;

let simulator: Child;
let simulatorUrl = "";
/** Settings that the simulator prints for a service, by name. */
let printed: Record<string, string>;
const dir = freshDir();
const picture = join(dir, "a.png");
beforeAll(async () => {
  simulator = start([...PROGRAM, "simulator", "--port", "0", "--speed", "20"]);
  [, simulatorUrl = ""] = await simulator.hears(/^simulator (\S+)$[\s\S]*GENROUTER_MEDIA__ALLOW=/m);
  printed = Object.fromEntries(
    [...simulator.output().matchAll(/^(GENROUTER_\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
  writeFileSync(picture, await (await fetch(`${simulatorUrl}/samples/picture.png?width=512&height=512`)).bytes());
}, 60_000);
afterAll(async () => {
  simulator.kill("SIGTERM");
  await simulator.ended;
  dropDirs();
});

/** Starts a live service with the routes of one provider, and an account with credits. */
const openLive = async (provider: string, links: string) => {
  const data = freshDir();
  const own = Object.entries(printed).filter(([name]) => name.startsWith(`GENROUTER_PROVIDERS__${provider.toUpperCase()}__`));
  expect(own).toHaveLength(2);
  const [host, port] = [address(), await freePort()];
  const service = start([...PROGRAM, "serve", "--host", host, "--port", String(port), "--data", data], {
    ...Object.fromEntries(own),
    GENROUTER_MEDIA__ALLOW: printed.GENROUTER_MEDIA__ALLOW ?? "",
    GENROUTER_OPERATOR__TOKEN: "o".repeat(40),
    GENROUTER_FILES__PROVIDER_LINKS: links,
  });
  const [, url = ""] = await service.hears(/^url (\S+)$/m);
  expect(service.output()).not.toContain("SIMULATOR MODE");
  const create = async (...words: string[]) =>
    JSON.parse((await runHere([...words, "--data", data, "--json"])).out) as { id: string; key: string };
  const { id } = await create("accounts", "create", "--name", "acme", "--credit-usd", "5");
  const { key } = await create("keys", "create", "--account", id);
  return { data, service, url, key };
};

test.each(CASES)(
  "$provider receives the bytes of a local PNG as $form with one command",
  async ({ provider, model, links }) => {
    const { data, service, url, key } = await openLive(provider, links);
    expect(new URL(url).hostname).toBe(address());
    expect(key).toStartWith("gr_live_");
    const place = join(data, "out.png");
    const words = ["generate", model, "--prompt", "in oil", "--image-url", picture, "-o", place];
    const { exit, err } = await runHere([...words, "--url", url, "--key", key]);
    expect([exit as number, err]).toEqual([0, expect.stringContaining("uploaded a.png")]);
    const bytes = await Bun.file(picture).bytes();
    const sent = { bytes: bytes.length, sha256: Bun.SHA256.hash(bytes, "hex") as string };
    const { jobs } = (await (await fetch(`${simulatorUrl}/jobs`)).json()) as { jobs: Job[] };
    const last = jobs.filter((job) => job.provider === provider).at(-1);
    expect(last?.inputs).toEqual([sent]);
    expect((await new Bun.Image(await Bun.file(place).bytes()).metadata()).format).toBeOneOf(["png", "jpeg"]);
    service.kill("SIGTERM");
    expect(await service.ended).toMatchObject({ code: 0 });
    expect((await runHere(["verify", "--data", data])).exit as number).toBe(0);
  },
  60_000,
);
