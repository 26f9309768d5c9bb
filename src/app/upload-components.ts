// Uploaded files: the service of their endpoints, their use as inputs, and the deletion of expired ones.
import { join } from "node:path";
import type { Mutation, ResultOf } from "../domain/mutations.ts";
import type { UploadPart } from "../domain/resumable-mutations.ts";
import type { InputFile } from "../domain/types.ts";
import { extensionOf } from "../files/serve.ts";
import { createStoredFiles, type StoredFiles } from "../files/stored-file.ts";
import { blobFile, verifiedFile } from "../files/verified-file.ts";
import { createOwnLinks } from "../inputs/own-links.ts";
import type { OpenInput } from "../providers/prepared-request.ts";
import { cheapestJob } from "../quote/minimum-price.ts";
import { freeBytesOf } from "../uploads/admission.ts";
import { createOwnFiles } from "../uploads/own-files.ts";
import { createResumableService, type ResumableService } from "../uploads/resumable-service.ts";
import { createUploadService, type UploadService } from "../uploads/upload-service.ts";
import type { Engine, EngineDeps } from "./engine-types.ts";
import type { LinkComponents } from "./link-components.ts";
import type { MediaComponent } from "./media-component.ts";
import type { ServiceAddress } from "./service-address.ts";
import type { ComponentsDeps } from "./service-types.ts";

type Place = Omit<InputFile, "n" | "field" | "kind">;

export type InputFiles = {
  /** Which stored files an input can name, and how their bytes are opened. */
  ownFiles: EngineDeps["inputs"]["ownFiles"];
  hasFile: (file: Place) => Promise<boolean>;
  /** Opens a stored file, or our copy of a pinned input, for a provider. */
  openInput: OpenInput;
  /** Serves a stored file that an input names; undefined if it is missing. */
  serveFile: (file: Place, name: string, request: Request) => Promise<Response | undefined>;
};

/** Stored files as inputs: uploaded files, and results of generations. */
export const createInputFiles = (
  { settings, store, storage, clock }: ComponentsDeps,
  { links }: Pick<LinkComponents, "links">,
  { baseUrl, ownUrl }: ServiceAddress,
): InputFiles => {
  const uploads = createStoredFiles(storage.uploads, clock.nowMs);
  const results = createStoredFiles(storage.files, clock.nowMs);
  const storageOf = ({ fileSeq }: Place): StoredFiles => (fileSeq === null ? results : uploads);
  const own = createOwnFiles({
    read: createOwnLinks(() => [baseUrl(), ownUrl()]),
    reads: store,
    links,
    clock,
    keepFilesS: settings.limits.file_retention_s,
  });
  const serve: InputFiles["serveFile"] = (file, name, request) => storageOf(file).serve(file, name, request);
  return {
    ownFiles: {
      ...own,
      open: (file) => (headers) => serve(file, "input", new Request("http://stored.invalid/", { headers })),
      keepMs: settings.limits.upload_retention_s * 1000,
    },
    hasFile: (file) => storageOf(file).has(file),
    openInput: async (source) => {
      if ("file" in source) {
        const file = await storageOf(source.file).bytes(source.file);
        return file && verifiedFile(file, source.file.sha256);
      }
      const copy = await storage.copies.open(source.generationId, source.copy);
      return copy && verifiedFile(blobFile(copy), source.copy.sha256);
    },
    serveFile: (file, name, request) => serve(file, `${name}${extensionOf(file.mime)}`, request),
  };
};

type UploadParts = Pick<MediaComponent, "measureUpload"> & {
  engine: Pick<Engine, "admission" | "routes"> & { post: <D extends Mutation>(mutation: D) => Promise<ResultOf<D>> };
};

export type UploadServices = { uploads: UploadService; resumable: ResumableService };

export const createUploads = (
  { settings, store, storage, clock, log }: ComponentsDeps,
  { engine, measureUpload }: UploadParts,
): UploadServices => {
  const deps = {
    reads: store,
    post: engine.post,
    clock,
    log,
    storage: storage.uploads,
    freeBytes: freeBytesOf(join(settings.data.dir, "uploads")),
    measure: measureUpload,
    admission: engine.admission,
    cheapest: () => cheapestJob(engine.routes.catalogue().models, (routeId) => engine.routes.state(routeId) !== "unconfigured"),
    limits: settings.limits,
  };
  const parts = createStoredFiles(storage.uploadParts, clock.nowMs);
  const readPart = ({ id, ...part }: UploadPart): Promise<Response | undefined> =>
    parts.serve(
      { storageId: id, fileNo: 1, mime: "application/octet-stream", ...part },
      "part",
      new Request("http://stored.invalid/"),
    );
  const shared = store.node !== null;
  return {
    uploads: createUploadService(deps),
    resumable: createResumableService({ ...deps, parts: storage.uploadParts, readPart, shared }),
  };
};
