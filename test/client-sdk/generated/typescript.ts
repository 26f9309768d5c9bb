// Runs the client that @hey-api/openapi-ts generates, and prints what it received as JSON.
import { createHash } from "node:crypto";
import { openAsBlob, readFileSync } from "node:fs";
import { client } from "./client/client.gen.ts";
import {
  cancelGeneration,
  deleteGeneration,
  deleteUploadedFile,
  downloadFirstFile,
  type Generation,
  type Input,
  listGenerations,
  pollGeneration,
  submitGeneration,
  uploadFile,
  type WebhookEvent,
} from "./client/index.ts";

const given = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
};
const LABEL = given("LABEL");
client.setConfig({ baseUrl: given("GENROUTER_URL"), auth: given("GENROUTER_API_KEY") });

const submit = (key: string, model: string, input: Input) =>
  submitGeneration({
    body: { model, input, max_cost_usd: 5, max_wait_s: 3600 },
    headers: {
      "Idempotency-Key": `${LABEL} ${key}`,
      "Genrouter-Metadata": JSON.stringify({ run: LABEL }),
      "Genrouter-End-User": "user-1207",
    },
  });
const ended = async (id: string): Promise<Generation> => {
  for (;;) {
    const { data } = await pollGeneration({ path: { id }, headers: { Prefer: "wait=30" }, throwOnError: true });
    if (data.completed_at !== null) return data;
  }
};
const made = async (key: string, model: string, input: Input): Promise<Generation> => {
  const { data, error } = await submit(key, model, input);
  if (data === undefined) throw new Error(error.error.message);
  return ended(data.id);
};
const shown = async ({ id, status, quoted_usd, cost_usd, output, metadata, end_user }: Generation) => {
  const { data } = await downloadFirstFile({ path: { id }, parseAs: "blob", throwOnError: true });
  const sha256 = createHash("sha256")
    .update(await (data as Blob).bytes())
    .digest("hex");
  const [files, duration_s] = [output?.urls.length, output?.duration_s ?? null];
  return { id, status, quoted_usd, cost_usd, files, duration_s, metadata, end_user, sha256 };
};

const upload = await uploadFile({ body: { file: await openAsBlob(given("PICTURE")) }, throwOnError: true });
const file = upload.data;

const CLIP: Input = { prompt: "a kite", image_urls: [file.id], resolution: "480p", duration: 4, audio: false };
const clip = await made("clip", "vidmodel-2.5", CLIP);
const again = await submit("clip", "vidmodel-2.5", CLIP);
const conflict = await submit("clip", "vidmodel-2.5", { ...CLIP, duration: 5 });
const edit = await made("edit", "gpt-image-2", {
  ...{ prompt: "a tin kite", image_url: file.id, mask_url: file.id },
  ...{ output_format: "png", background: "opaque" },
});
const SPEECH: Input = { prompt: "All credits are accounted for.", voice: "Bella", seed: 4_294_967_295, output_format: "opus" };
const speech = await made("speech", "eleven-v4", SPEECH);
const refused = await submit("refused", "eleven-v4", { ...SPEECH, voice: "unknown" });
const page = await listGenerations({ query: { limit: 10, metadata: { run: LABEL } }, throwOnError: true });
// Its provider cancels running jobs, too.
const slow = await submit("slow", "runway-gen-4.5", { prompt: "[sim:stuck] a kite", duration: 5 });
await cancelGeneration({ path: { id: slow.data?.id ?? "" }, throwOnError: true });
const cancelled = await ended(slow.data?.id ?? "");
const deleted = await deleteGeneration({ path: { id: edit.id }, throwOnError: true });
const removed = await deleteUploadedFile({ path: { id: file.id }, throwOnError: true });
const event = JSON.parse(readFileSync(given("EVENT"), "utf8")) as WebhookEvent;
if (event.type !== "generation.succeeded") throw new Error(`an event of the type ${event.type}`);

process.stdout.write(
  JSON.stringify({
    file: { id: file.id, kind: file.kind, bytes: file.bytes, width: file.width, sha256: file.sha256 },
    clip: await shown(clip),
    again: again.data?.id,
    conflict: conflict.error?.error.code,
    speech: await shown(speech),
    edit: { id: edit.id, status: edit.status, files: edit.output?.urls.length },
    refused: refused.error?.error.code,
    listed: page.data.data.map(({ id }) => id),
    cancelled: { id: cancelled.id, status: cancelled.status, code: cancelled.error?.code },
    deleted: deleted.data.deleted && removed.data.deleted,
    event: { type: event.type, id: event.data.id, cost_usd: event.data.cost_usd },
  }),
);
