// The block `upload` of a dialect: how files reach a provider that cannot download them from this service.
import type { FileBytes, Json, JsonObject } from "../../domain/types.ts";
import { isGivenUrl } from "../parse-response.ts";
import type { ProviderRequest, ProviderResponse, StorageUpload, UploadForm } from "../port.ts";
import { placeholderOf } from "../request-body.ts";
import type { UploadFile } from "../uploads.ts";
import { DialectError, type Scope } from "./placeholders.ts";
import { seekOf, textAt } from "./pointers.ts";
import { requestOf } from "./requests.ts";
import type { StorageTemplate, UploadTemplate } from "./schema.ts";
import { within } from "./template.ts";

const BYTES_PER_MB = 1_048_576;
const KNOWN = ["file", "ref", "ref_uuid", "new_uuid"];
/** An id of an uploaded file: one short word. */
const ID = /^[\x21-\x7e]{1,500}$/;

/** The file of an upload request has no number, and no one reads its hash. */
const NO_HASH = "0".repeat(64);
const placeOf = (text: "data_uri" | "base64", mime: string): string => placeholderOf({ n: 0, sha256: NO_HASH, text, mime });

/** The values of an upload's templates. `data_uri` and `base64` become the encoded file when the request is sent. */
const scopeOf = ({ file, mime, name, ref }: UploadFile): Scope => ({
  file: { name, mime, bytes: file.size, data_uri: placeOf("data_uri", mime), base64: placeOf("base64", mime) },
  ref,
  get new_uuid() {
    return crypto.randomUUID();
  },
});

const insertedIn = ({ body }: ProviderRequest, { file, mime }: UploadFile): ReadonlyMap<string, FileBytes> => {
  const json = JSON.stringify(body ?? null);
  const places = (["data_uri", "base64"] as const).map((text) => placeOf(text, mime));
  return new Map(places.filter((place) => json.includes(JSON.stringify(place))).map((place) => [place, file]));
};

const textsOf = (value: unknown): Record<string, string> | undefined => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const members = Object.entries(value as JsonObject).map(([name, one]): [string, Json] => [name, one]);
  return members.every((member): member is [string, string] => typeof member[1] === "string")
    ? Object.fromEntries(members)
    : undefined;
};

type Reading = StorageUpload["read"];

/** The second request of an upload, to the storage host that the first response names. */
const sendingOf = (template: NonNullable<StorageTemplate["send_to"]>) => {
  const { method, field } = template;
  const url = seekOf(template.url);
  const form = template.form === undefined ? undefined : seekOf(template.form);
  if (method === "POST" && field === undefined) throw new DialectError("/field: required with POST");
  return (r: ProviderResponse, { file, mime, name }: UploadFile): ProviderRequest | undefined => {
    const address = textAt(url(r));
    const texts = form === undefined ? {} : textsOf(form(r)[0]);
    if (!isGivenUrl(address) || texts === undefined) return undefined;
    const part = { name, mime, bytes: file };
    if (method === "PUT") return { method, url: address, headers: { "content-type": mime }, file: { field: null, ...part } };
    return { method, url: address, headers: {}, form: texts, file: { field: field ?? null, ...part } };
  };
};

const readingOf = (template: StorageTemplate): Reading => {
  const seek = within("value", () => seekOf(template.value));
  const { send_to: sendTo } = template;
  const sending = sendTo && within("send_to", () => sendingOf(sendTo));
  return (r, upload) => {
    const [found] = seek(r);
    const value = typeof found === "number" ? String(found) : textAt([found]);
    if (value === undefined || !ID.test(value)) return undefined;
    if (sending === undefined) return { value };
    const send = sending(r, upload);
    return send && { value, send };
  };
};

/** @throws DialectError */
const storageOf = (
  template: StorageTemplate,
  shared: Readonly<Record<string, string>>,
): Pick<StorageUpload, "request" | "read"> => {
  const { path, query, headers, body, form, field, send_to: sendTo } = template;
  const holdsFile = JSON.stringify(body ?? null).match(/\{file\.(data_uri|base64)\}/) !== null;
  if ([field !== undefined, sendTo !== undefined, holdsFile].filter(Boolean).length !== 1)
    throw new DialectError("the file is either in a form `field`, in the `body` or in the request `send_to`");
  if (field !== undefined && body !== undefined) throw new DialectError("a request has a body or a form, not both");
  const written = {
    ...{ method: "POST", path },
    ...(query === undefined ? {} : { query }),
    ...(headers === undefined ? {} : { headers }),
    ...(body === undefined ? {} : { body }),
    ...(form === undefined ? {} : { form }),
  } as const;
  const make = requestOf(written, shared, KNOWN);
  return {
    request: (upload, baseUrl) => {
      const request = make(scopeOf(upload), baseUrl);
      const { file: bytes, mime, name } = upload;
      if (field !== undefined) return { ...request, file: { field, name, mime, bytes } };
      return { ...request, files: insertedIn(request, upload) };
    },
    read: readingOf(template),
  };
};

/** @throws DialectError */
const formOf = (template: UploadTemplate, shared: Readonly<Record<string, string>>): UploadForm => {
  const { kinds, most_mb: mostMb, total_mb: totalMb } = template;
  const bounds = {
    mostBytes: mostMb * BYTES_PER_MB,
    ...(totalMb === undefined ? {} : { totalBytes: totalMb * BYTES_PER_MB }),
    ...(kinds === undefined ? {} : { kinds }),
  };
  if ("inline" in template) return { as: "inline", text: template.inline, ...bounds };
  const { kept_s: keptS } = template;
  const kept = keptS === undefined ? {} : { keptMs: keptS * 1000 };
  return { as: "upload", ...bounds, ...kept, ...storageOf(template, shared) };
};

/** The forms of a dialect, in order of preference. @throws DialectError */
export const uploadsOf = (
  templates: UploadTemplate | readonly UploadTemplate[],
  shared: Readonly<Record<string, string>>,
): UploadForm[] =>
  "length" in templates
    ? templates.map((template, at) => within(String(at), () => formOf(template, shared)))
    : [formOf(templates, shared)];
