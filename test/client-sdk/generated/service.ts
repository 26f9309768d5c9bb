// A simulated service in its own process for the generated clients, and the check of their reports against its raw responses.
import { expect } from "bun:test";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../../src/domain/types.ts";
import { FROM_SOURCES, freePort, run, start, until } from "../../../src/torture/crash/processes.ts";
import { openReceiver } from "../../webhooks/receiver.ts";
import type { Report } from "./languages.ts";

export type Service = {
  /** Variables for the program of a language. */
  envOf: (label: string) => Record<string, string>;
  /** Compares a report with what the service returns without a generated client. @throws at the first difference */
  check: (report: Report, label: string) => Promise<void>;
  /** Stops the service and verifies its ledger. @throws if it is not clean */
  stop: () => Promise<void>;
};

const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Starts the service as users do, and sends it one generation for a webhook event. @param dir for its data and the files of the programs */
export const openService = async (dir: string): Promise<Service> => {
  const [data, port] = [join(dir, "data"), await freePort()];
  mkdirSync(data, { recursive: true });
  const limits = { GENROUTER_LIMITS__BURST_PER_S: "10000" };
  const settings = { ...limits, GENROUTER_SIMULATOR__SPEED: "20", GENROUTER_WEBHOOKS__ALLOW: "127.0.0.1" };
  const child = start([...FROM_SOURCES, "serve", "--simulate", "--port", String(port), "--data", data], settings);
  const [, simulator = ""] = await child.hears(/simulator (http:\S+)/);
  const [, url = "", key = ""] = await child.hears(/^url (\S+)\nkey (\S+)$/m);
  const authorization = { authorization: `Bearer ${key}` };
  const call = async (
    path: string,
    body?: object,
    method = body ? "POST" : "GET",
  ): Promise<{ status: number; body: JsonObject }> => {
    const response = await fetch(`${url}${path}`, {
      ...{ method, headers: authorization, ...(body ? { body: JSON.stringify(body) } : {}) },
    });
    return { status: response.status, body: (await response.json()) as JsonObject };
  };

  const [picture, event] = [join(dir, "picture.png"), join(dir, "event.json")];
  writeFileSync(picture, await (await fetch(`${simulator}/samples/picture.png`)).bytes());
  const receiver = openReceiver();
  await call("/v1/webhook_endpoints", { url: receiver.url, events: ["generation.succeeded"] });
  await call("/v1/generations", { model: "sim-image-1", input: { prompt: "a kite" } });
  const [received] = await until("the webhook", () => receiver.received.length > 0 && receiver.received);
  writeFileSync(event, received?.text ?? "");
  await receiver.stop();

  const check: Service["check"] = async (report, label) => {
    const bytes = readFileSync(picture);
    expect(report.file).toMatchObject({ kind: "image", bytes: bytes.length, width: 1280, sha256: sha256Of(bytes) });
    for (const shown of [report.clip, report.speech]) {
      const { body } = await call(`/v1/generations/${shown.id}`);
      const { id, status, quoted_usd, cost_usd, metadata, end_user, output } = body;
      const { urls, duration_s = null } = output as { urls: string[]; duration_s?: number };
      const content = await fetch(`${url}/v1/generations/${shown.id}/content`, { headers: authorization });
      const sha256 = sha256Of(await content.bytes());
      expect(shown).toEqual({
        ...({ id, status, quoted_usd, cost_usd, metadata, end_user } as Report["clip"]),
        ...{ files: urls.length, duration_s, sha256 },
      });
      expect(shown).toMatchObject({ status: "succeeded", metadata: { run: label }, end_user: "user-1207" });
    }
    expect(report.clip).toMatchObject({ duration_s: 4, cost_usd: 0.48 });
    expect(report.edit).toMatchObject({ status: "succeeded", files: 1 });
    expect([report.again, report.conflict, report.refused]).toEqual([report.clip.id, "idempotency_conflict", "invalid_input"]);
    expect(report.listed).toEqual([report.speech.id, report.edit.id, report.clip.id]);
    expect(report.cancelled).toMatchObject({ status: "failed", code: "cancelled" });
    expect(report.deleted).toBe(true);
    expect((await call(`/v1/files/${report.file.id}`)).status).toBe(404);
    const listed = (await call(`/v1/generations?metadata[run]=${label}`)).body.data as { id: string }[];
    expect(listed.map(({ id }) => id)).toEqual([report.cancelled.id, report.speech.id, report.clip.id]);
    const { type, data: sent } = JSON.parse(readFileSync(event, "utf8")) as { type: string; data: JsonObject };
    expect(report.event as JsonObject).toEqual({ type, id: sent.id ?? null, cost_usd: sent.cost_usd ?? null });
  };

  return {
    envOf: (label) => ({ GENROUTER_URL: url, GENROUTER_API_KEY: key, LABEL: label, PICTURE: picture, EVENT: event }),
    check,
    stop: async () => {
      child.kill("SIGTERM");
      await child.ended;
      const { code, output } = await run([...FROM_SOURCES, "verify", "--data", data]);
      if (code !== 0) throw new Error(output);
    },
  };
};
