// Expensive input files are parsed in the sandbox, and not opened if admission would fail anyway.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Harness, openHarness, type Tenant } from "../harness.ts";
import { mp4, png } from "../media/made.ts";
import { stall } from "../stall/harness.ts";

const MIB = 1024 * 1024;
const u32 = (n: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(n >>> 0);
  return bytes;
};
const box = (name: string, ...parts: Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([u32(8 + content.length), Buffer.from(name, "latin1"), content]);
};
const full = (name: string, ...parts: Uint8Array[]) => box(name, u32(0), ...parts);

/** An MP4 whose index contains as many complete tracks as fit into `bytes`. */
const tracks = (bytes: number): Uint8Array => {
  const header = full("tkhd", u32(0), u32(0), u32(1), u32(0), u32(4000), Buffer.alloc(60));
  const config = box("avcC", Buffer.from([1, 66, 0, 30, 255, 225, 0, 4, 0x67, 66, 0, 30, 1, 0, 2, 0x68, 0xce]));
  const entry = box(
    "avc1",
    Buffer.alloc(6),
    Buffer.from([0, 1]),
    Buffer.alloc(16),
    Buffer.from([1, 64, 0, 240]),
    Buffer.alloc(50),
    config,
  );
  const table = box("stbl", full("stsd", u32(1), entry), full("stts", u32(1), u32(1), u32(1)));
  const media = [
    full("mdhd", u32(0), u32(0), u32(1000), u32(4000), u32(0x55c40000)),
    full("hdlr", u32(0), Buffer.from("vide"), Buffer.alloc(13)),
  ];
  const track = box("trak", header, box("mdia", ...media, box("minf", table)));
  const movie = full("mvhd", u32(0), u32(0), u32(1000), u32(4000), Buffer.alloc(80));
  const all = Array<Uint8Array>(Math.floor(bytes / track.length)).fill(track);
  return Buffer.concat([
    box("ftyp", Buffer.from("isom"), u32(0), Buffer.from("isommp42")),
    box("moov", movie, ...all),
    box("mdat", Buffer.alloc(16)),
  ]);
};
/** AAC of empty frames. */
const frames = (bytes: number): Uint8Array => {
  const frame = Buffer.from([0xff, 0xf1, 0x50, 0x80, 0, 0xff, 0xfc]);
  return Buffer.concat(Array<Uint8Array>(Math.floor(bytes / frame.length)).fill(frame));
};

let harness: Harness;
let server: Bun.Server<undefined>;
/** The accounts whose links were opened, because accepted generations fetch their links at the same time. */
const opened: string[] = [];
const files = new Map<string, Uint8Array>();
const link = (name: string, { accountId }: Tenant) => `${server.url.origin}/${name}?${accountId}`;
const openedOf = ({ accountId }: Tenant) => opened.filter((whose) => whose === accountId).length;

beforeAll(async () => {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      opened.push(new URL(request.url).search.slice(1));
      return new Response((files.get(new URL(request.url).pathname.slice(1)) ?? new Uint8Array()) as Uint8Array<ArrayBuffer>);
    },
  });
  harness = await openHarness({ env: { GENROUTER_MEDIA__ALLOW: server.url.host, GENROUTER_LIMITS__IN_PROGRESS: "1" } });
  files.set("clip.mp4", await mp4({ seconds: 4 }));
  files.set("picture.png", await png());
});
afterAll(async () => {
  await harness.close();
  await server.stop(true);
});

const submit = (tenant: Tenant, field: string, name: string) =>
  harness.request("POST", "/v1/generations", {
    key: tenant.key,
    body: {
      model: field === "image_url" ? "vidmodel-2.0-fast" : "vidmodel-2.5",
      input: { prompt: "x", [field]: field.endsWith("s") ? [link(name, tenant)] : link(name, tenant) },
    },
  });

describe("expensive input files", () => {
  const bombs: [string, string, () => Uint8Array][] = [
    ["an MP4 whose index is 4 MiB of tracks", "video_urls", () => tracks(4 * MIB)],
    ["an MP4 whose index is 30 MiB of tracks", "video_urls", () => tracks(30 * MIB)],
    ["255 KiB of empty AAC frames", "audio_urls", () => frames(255 * 1024)],
    ["60 MiB of empty AAC frames", "audio_urls", () => frames(60 * MIB)],
  ];
  test.each(bombs)("answers other requests while it reads %s", async (name, field, make) => {
    // The test makes the file in the event loop of the service, so the stall meter is paused.
    files.set(name, await stall.pause(make));
    const tenant = await harness.newTenant();
    const bomb = submit(tenant, field, encodeURIComponent(name));
    files.set(encodeURIComponent(name), files.get(name) ?? new Uint8Array());
    let isRead = false;
    void bomb.finally(() => {
      isRead = true;
    });
    // The stall meter measures the pauses of the event loop meanwhile and fails this file above its bound.
    while (!isRead) {
      expect((await harness.request("GET", "/healthz", { key: null })).status).toBe(200);
      await new Promise((turn) => setTimeout(turn, 5));
    }
    const { status, body } = await bomb;
    // Audio of empty frames can have a length. Then the rules of the model decide.
    expect([202, 422]).toContain(status);
    if (status === 422) expect(JSON.stringify(body)).toContain(`input.${field}`);
  });
});

describe("admission before input links are opened", () => {
  const cases: [string, string][] = [
    ["image_url", "picture.png"],
    ["video_urls", "clip.mp4"],
  ];
  test.each(cases)("rejects an account without credits with 402 before it opens %s", async (field, name) => {
    const tenant = await harness.newTenant(0);
    const { status, body } = await submit(tenant, field, name);
    expect([status, (body.error as { code?: string }).code]).toEqual([402, "insufficient_credits"]);
    expect(openedOf(tenant)).toBe(0);
  });

  test("rejects an account at its concurrency limit with 429 before it opens the link", async () => {
    const tenant = await harness.newTenant();
    await harness.components.post({ mutation: "set-account", accountSeq: tenant.accountSeq, inProgressLimit: 0 });
    const { status, body } = await submit(tenant, "image_url", "picture.png");
    expect([status, (body.error as { code?: string }).code]).toEqual([429, "concurrency_limit"]);
    expect(openedOf(tenant)).toBe(0);
  });

  test.each(cases)("accepts %s with a balance equal to the hold and rejects it one credit below", async (field, name) => {
    const rich = await harness.newTenant();
    const taken = await submit(rich, field, name);
    expect(taken.status).toBe(202);
    const cents = Math.round(Number(taken.body.reserved_usd) * 100);
    expect((await submit(await harness.newTenant(cents), field, name)).status).toBe(202);
    expect((await submit(await harness.newTenant(cents - 1), field, name)).status).toBe(402);
  });

  test("replays a submission with the same idempotency key without a balance and without opening its link", async () => {
    const tenant = await harness.newTenant();
    const body = { model: "vidmodel-2.0-fast", input: { prompt: "again", image_url: link("picture.png", tenant) } };
    const asked = { key: tenant.key, body, headers: { "idempotency-key": "once" } };
    const first = await harness.request("POST", "/v1/generations", asked);
    expect(first.status).toBe(202);
    // Until the generation ends, its provider opens the link too.
    await harness.until(String(first.body.id), undefined, tenant.key);
    const { available } = await harness.balance(tenant);
    await harness.components.post({
      mutation: "credit",
      accountSeq: tenant.accountSeq,
      kind: "adjust",
      credits: -available,
      note: "",
      reference: null,
      atMs: 0,
    });
    const before = openedOf(tenant);
    const again = await harness.request("POST", "/v1/generations", asked);
    expect([again.status, again.body.id]).toEqual([200, first.body.id]);
    expect(openedOf(tenant)).toBe(before);
  });
});
