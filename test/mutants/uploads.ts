// Mutants of uploads: bytes that are removed while they are needed, left behind, lost or counted wrongly.
import type { Mutant } from "./mutant.ts";

const UPLOADS = "src/store/sql/uploads.ts";
const SWEEP = "src/uploads/sweep-uploads.ts";
const NEEDED = "a file is kept as long as a generation needs it";
const SWEPT = "the sweep leaves no bytes and no rows without a file";

export const UPLOAD_MUTANTS: readonly Mutant[] = [
  {
    name: "file-removed-in-use",
    breaks: "A client can delete a file that an open generation takes as an input.",
    standsFor: NEEDED,
    patches: [{ file: UPLOADS, find: '    if (yield* first(NEEDED, file.seq)) return { kind: "in_use" };\n', put: "" }],
    killer: "simulation",
    seed: 75,
  },
  {
    name: "file-use-does-not-prolong",
    breaks: "The use of a file does not prolong its retention.",
    standsFor: "a file is kept for its retention after its last use",
    patches: [
      {
        file: "src/store/sqlite/admit-generation.ts",
        find: "      if (fileSeq !== null) useFile.run(fileSeq, createdAtMs, files?.expireAtMs ?? 0);\n",
        put: "",
      },
    ],
    killer: "simulation",
  },
  {
    name: "file-deleted-before-admission",
    breaks: "A submission is admitted although its file was deleted meanwhile.",
    standsFor: NEEDED,
    patches: [
      {
        file: "src/store/decide/admission.ts",
        find: "fileSeq !== null && !rows.isFileStored(fileSeq));",
        put: "fileSeq !== null && fileSeq < 0 && !rows.isFileStored(fileSeq));",
      },
    ],
    killer: "simulation",
    seed: 258,
  },
  {
    name: "upload-left-reserved",
    breaks: "The sweep does not give up the reservation of a process that ended during an upload.",
    standsFor: SWEPT,
    patches: [{ file: SWEEP, find: "() => reads.leftBlobs(atMs - LEFT_MS, BATCH),", put: "async () => []," }],
    killer: "simulation",
  },
  {
    name: "orphan-blob-not-swept",
    breaks: "The sweep marks retired blobs as deleted and leaves their bytes.",
    standsFor: SWEPT,
    patches: [{ file: SWEEP, find: "      await storage.remove(blobId);\n", put: "" }],
    killer: "simulation",
  },
  {
    name: "file-named-before-its-bytes",
    breaks: "An upload is acknowledged before its bytes are durable.",
    standsFor: "an acknowledged file is complete",
    patches: [
      {
        file: "src/uploads/store-upload.ts",
        find: "      await keepBytes(received, object, signal);\n",
        put: "      void keepBytes(received, object, signal).catch(() => undefined);\n",
      },
    ],
    killer: "simulation",
  },
  {
    name: "identical-bytes-stored-twice",
    breaks: "Identical bytes of an account are stored and counted again.",
    standsFor: "identical bytes of one account share storage and count once",
    patches: [
      { file: UPLOADS, find: "    if (same) return yield* nameFile(mutation, same.seq);\n    if (!(", put: "    if (!(" },
    ],
    killer: "simulation",
  },
  {
    name: "upload-over-quota",
    breaks: "An upload is accepted whatever the account stores.",
    standsFor: "files count against limits.upload_quota_bytes",
    patches: [{ file: UPLOADS, find: "content.bytes, quotaBytes)", put: "content.bytes, Number.MAX_SAFE_INTEGER - quotaBytes)" }],
    killer: "simulation",
  },
  {
    name: "quota-not-released",
    breaks: "The bytes of a deleted file still count against the quota.",
    standsFor: "files count against limits.upload_quota_bytes",
    patches: [{ file: UPLOADS, find: "  yield* giveBackQuota(accountSeq, bytes);\n", put: "" }],
    killer: "simulation",
  },
  {
    name: "broken-upload-stored",
    breaks: "The bytes before a broken connection are stored as the file.",
    standsFor: "an acknowledged file is complete",
    patches: [
      {
        file: "src/uploads/receive-upload.ts",
        find: '    if (typeof read === "string") return interrupted(read);',
        put: '    if (typeof read === "string") return read === "broken" ? undefined : interrupted(read);',
      },
    ],
    killer: "simulation",
  },
];
