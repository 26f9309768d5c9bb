// Bodies of requests to providers: JSON and forms, with the bytes of files streamed from storage.
//
// A request names its files by placeholders. The same request and files always give the same bytes.
import type { FileBytes } from "../domain/types.ts";
import type { ProviderRequest } from "./port.ts";

/** A part of a body: text, or a file as it is or in base64. */
type Piece = string | { file: FileBytes; isBase64: boolean };

/** A body, its headers, and whether one of its files could not be read. */
export type RequestBody = {
  body?: string | Blob | AsyncIterable<Uint8Array>;
  headers: Record<string, string>;
  isUnreadable: () => boolean;
};

const PLACE = /^genrouter-input:(\d{1,2}):([0-9a-f]{64}):(data_uri|base64|part):([\w.+/-]{1,80})$/;

/** The form in which a request contains a file: as a data URI, as base64, or as a part of a form. */
export type InlineText = "data_uri" | "base64" | "part";
export type Placeholder = { n: number; sha256: string; text: InlineText; mime: string };

/** The placeholder for a file in a stored request: the identity of the file, and its encoding. */
export const placeholderOf = ({ n, sha256, text, mime }: Placeholder): string => `genrouter-input:${n}:${sha256}:${text}:${mime}`;

/** Reads such a placeholder; undefined for any other text. */
export const readPlaceholder = (written: string): Placeholder | undefined => {
  const [, n, sha256 = "", text, mime = ""] = PLACE.exec(written) ?? [];
  return text === undefined ? undefined : { n: Number(n), sha256, text: text as InlineText, mime };
};

/** A file in base64. Each piece but the last ends at a multiple of three bytes. */
const base64Of = async function* (stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest = Buffer.alloc(0);
  for await (const piece of stream) {
    const whole = Buffer.concat([rest, piece]);
    const end = whole.length - (whole.length % 3);
    rest = whole.subarray(end);
    if (end > 0) yield Buffer.from(whole.toString("base64", 0, end), "latin1");
  }
  if (rest.length > 0) yield Buffer.from(rest.toString("base64"), "latin1");
};

const sizeOf = (piece: Piece): number => {
  if (typeof piece === "string") return Buffer.byteLength(piece);
  return piece.isBase64 ? Math.ceil(piece.file.size / 3) * 4 : piece.file.size;
};

/** The body of these pieces. It is streamed with its length, so no file is in memory as a whole. */
const streamed = (pieces: readonly Piece[], headers: Record<string, string>, signal: AbortSignal): RequestBody => {
  let isUnreadable = false;
  const all = async function* (): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) {
      if (typeof piece === "string") {
        yield Buffer.from(piece);
        continue;
      }
      const stream = piece.file.read(signal);
      try {
        yield* piece.isBase64 ? base64Of(stream) : stream;
      } catch (fault) {
        isUnreadable = true;
        throw fault;
      }
    }
  };
  const bytes = pieces.reduce((sum, piece) => sum + sizeOf(piece), 0);
  return { body: all(), headers: { ...headers, "content-length": String(bytes) }, isUnreadable: () => isUnreadable };
};

const fileOf = (files: ProviderRequest["files"], place: string): FileBytes => {
  const file = files?.get(place);
  if (file === undefined) throw new Error("a request names a file that was not opened");
  return file;
};

/** A JSON text in which the texts that are placeholders are the files. */
const jsonPieces = (json: string, files: NonNullable<ProviderRequest["files"]>): Piece[] => {
  const places = [...files.keys()].map((place) => JSON.stringify(place));
  const split = json.split(new RegExp(`(${places.map((place) => RegExp.escape(place)).join("|")})`));
  return split.flatMap((text): Piece[] => {
    if (!places.includes(text)) return text === "" ? [] : [text];
    const place: string = JSON.parse(text);
    const { text: form, mime } = readPlaceholder(place) ?? { text: "base64", mime: "" };
    const begin = form === "data_uri" ? `"data:${mime};base64,` : '"';
    return [begin, { file: fileOf(files, place), isBase64: true }, '"'];
  });
};

const quoted = (name: string): string => name.replace(/["\r\n]/g, (char) => encodeURIComponent(char));

type FilePart = { name: string; fileName: string; mime: string; file: FileBytes };

const textPart = (name: string, value: string): string =>
  `Content-Disposition: form-data; name="${quoted(name)}"\r\n\r\n${value}`;
const fileHead = ({ name, fileName, mime }: FilePart): string =>
  `Content-Disposition: form-data; name="${quoted(name)}"; filename="${quoted(fileName)}"\r\nContent-Type: ${mime}\r\n\r\n`;

/** The extension of a file name; providers detect the format by it. */
const extensionOf = (mime: string): string => mime.slice(mime.indexOf("/") + 1).replace(/^x-|\+.*$|[^a-z0-9].*$/g, "") || "bin";
/** The name of a file in a form. */
export const fileNameOf = (name: string, mime: string): string => `${name}.${extensionOf(mime)}`;

/** The parts of a form: first its texts, then its files, as some storage services require. */
const partsOf = ({ form = {}, file, files }: ProviderRequest): { texts: [string, string][]; inserted: FilePart[] } => {
  const texts: [string, string][] = [];
  const inserted: FilePart[] = [];
  for (const [name, value] of Object.entries(form)) {
    const place = files?.has(value) ? readPlaceholder(value) : undefined;
    if (!place) texts.push([name, value]);
    else
      inserted.push({ name, fileName: fileNameOf(`input-${place.n}`, place.mime), mime: place.mime, file: fileOf(files, value) });
  }
  if (typeof file?.field === "string")
    inserted.push({ name: file.field, fileName: file.name, mime: file.mime, file: file.bytes });
  return { texts, inserted };
};

/** The boundary of a form. It depends on the form alone, so a repeated request has the same bytes. */
const boundaryOf = (form: unknown): string => `genrouter-${Bun.SHA256.hash(JSON.stringify(form), "hex").slice(0, 40)}`;

const formPieces = (request: ProviderRequest): { pieces: Piece[]; type: string } => {
  const { texts, inserted } = partsOf(request);
  const boundary = boundaryOf([texts, inserted.map(({ name, fileName, mime, file: { size } }) => [name, fileName, mime, size])]);
  const open = `--${boundary}\r\n`;
  const pieces: Piece[] = texts.map(([name, value]) => `${open}${textPart(name, value)}\r\n`);
  for (const part of inserted) pieces.push(`${open}${fileHead(part)}`, { file: part.file, isBase64: false }, "\r\n");
  return { pieces: [...pieces, `--${boundary}--\r\n`], type: `multipart/form-data; boundary=${boundary}` };
};

const readable = () => false;

/** Builds the body of a request. @param signal ends the reading of its files */
export const bodyOf = (request: ProviderRequest, signal: AbortSignal): RequestBody => {
  const { body, form, file, files } = request;
  if (file?.field === null) return streamed([{ file: file.bytes, isBase64: false }], {}, signal);
  if (form !== undefined || file !== undefined) {
    const { pieces, type } = formPieces(request);
    const texts = pieces.filter((piece) => typeof piece === "string");
    if (texts.length === pieces.length)
      return { body: texts.join(""), headers: { "content-type": type }, isUnreadable: readable };
    return streamed(pieces, { "content-type": type }, signal);
  }
  if (body === undefined) return { headers: {}, isUnreadable: readable };
  const json = JSON.stringify(body);
  if (files === undefined || files.size === 0) return { body: json, headers: {}, isUnreadable: readable };
  return streamed(jsonPieces(json, files), {}, signal);
};
