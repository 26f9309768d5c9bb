// Backup format: names, and the manifest that lists the contents and protects itself.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { schemaFault } from "../domain/schema-errors.ts";
import { BackupError } from "./errors.ts";

/** Format version; a reader rejects higher ones. */
export const FORM = 1;
export const MANIFEST_FILE = "manifest.json";
/** Names the bucket that has some of the result files. */
export const BUCKET_FILE = "files/bucket.json";
export const MASTER_KEY_FILE = "provider-keys.master";
/** Lock file in a directory of backups while one of them is created or removed. */
export const TURN_FILE = ".genrouter-backup.lock";

const TIME_IN_NAME = /^genrouter-(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z/;
const NAME = /^genrouter-(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/;
/** Names of incomplete and partly removed backups. */
const UNDER_WAY = /^genrouter-\d{8}T\d{6}Z\.(incomplete|removed)$/;

/** Name of a backup: `genrouter-20261121T041200Z`. */
export const backupName = (atMs: number): string =>
  `genrouter-${new Date(atMs)
    .toISOString()
    .replace(/\.\d{3}Z$/, "Z")
    .replace(/[-:]/g, "")}`;
/** The time in the name of a backup, also of one that is under way, in milliseconds. */
export const timeOfBackupName = (name: string): number => {
  const [, year, month, day, hour, minute, second] = (TIME_IN_NAME.exec(name) ?? []).map(Number);
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second);
};
export const incompleteName = (name: string): string => `${name}.incomplete`;
export const removedName = (name: string): string => `${name}.removed`;
export const isBackupName = (name: string): boolean => NAME.test(name);
export const isUnderWayName = (name: string): boolean => UNDER_WAY.test(name);

const count = Type.Integer({ minimum: 0 });
const hash = Type.String({ pattern: "^[0-9a-f]{64}$" });
/** A path relative to the backup, with slashes, without `..`. */
const path = Type.String({ pattern: "^(?!/)(?!.*(^|/)\\.{1,2}(/|$))[\\w./-]{1,300}$" });

const ManifestSchema = Type.Object(
  {
    form: Type.Literal(FORM),
    genrouter: Type.String(),
    /** The creator; the service removes only nightly backups. */
    made_by: Type.Union([Type.Literal("command"), Type.Literal("nightly")]),
    /** Every commit before this time is included. */
    taken_at: Type.String(),
    taken_at_ms: count,
    schema: count,
    mode: Type.Union([Type.Literal("test"), Type.Literal("live")]),
    epoch: count,
    lineage: Type.String(),
    files_store: Type.Union([Type.Literal("local"), Type.Literal("s3")]),
    rows: Type.Record(Type.String(), count),
    /** Whole credits over all accounts. */
    ledger: Type.Object({
      available: count,
      held: count,
      charged: count,
      owed: count,
      movements: count,
      moved: Type.Record(Type.String(), Type.Integer()),
    }),
    /** Omitted files with the reason. */
    left_out: Type.Array(Type.Object({ what: Type.String(), why: Type.String() })),
    /** Errors of the original at creation; the backup is as intact as its original. */
    faults: Type.Array(Type.Object({ path: Type.String(), why: Type.String() })),
    entries: Type.Array(Type.Object({ path, bytes: count, sha256: hash })),
  },
  { additionalProperties: false },
);
export type Manifest = Static<typeof ManifestSchema>;
export type Entry = Manifest["entries"][number];
export type Noted = Manifest["faults"][number];

const SELF_OF_NOTHING = `{\n "sha256": "${"0".repeat(64)}"`;
const SELF = /^\{\n "sha256": "([0-9a-f]{64})"/;
const hashOf = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

/** The text of a manifest. Its first member is the hash of the whole text with zeros in place of the hash. */
export const printManifest = (manifest: Manifest): string => {
  const { entries, ...rest } = manifest;
  // One entry per line, which is easy to read and to compare.
  const lines = entries.map((entry) => `  ${JSON.stringify(entry)}`).join(",\n");
  const body = JSON.stringify(rest, null, 1).slice(2, -2);
  const text = `${SELF_OF_NOTHING},\n${body},\n "entries": [${lines === "" ? "" : `\n${lines}\n `}]\n}\n`;
  return text.replace(SELF, `{\n "sha256": "${hashOf(text)}"`);
};

/** @throws BackupError `damaged` or `newer`, with the path of the manifest at `place`. */
export const readManifest = (bytes: Uint8Array, place: string): Manifest => {
  const at = join(place, MANIFEST_FILE);
  const damaged = (why: string) => new BackupError("damaged", `${at}: ${why}; use another backup`);
  const text = Buffer.from(bytes).toString("latin1");
  const self = SELF.exec(text)?.[1];
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    throw damaged("it is not valid JSON: it was changed or truncated");
  }
  const form = typeof value === "object" && value !== null && "form" in value ? value.form : undefined;
  if (typeof form === "number" && form > FORM)
    throw new BackupError("newer", `${at}: its format is ${form}; this release supports ${FORM}; use the newer release`);
  if (self === undefined || hashOf(Buffer.from(text.replace(SELF, SELF_OF_NOTHING), "latin1")) !== self)
    throw damaged("it was changed after it was written");
  const { sha256: _, ...manifest } = value as Manifest & { sha256: string };
  const fault = Value.Errors(ManifestSchema, manifest).First();
  if (fault) {
    const { path, message } = schemaFault(fault);
    throw damaged(`${path.slice(1) || "the manifest"}: ${message}`);
  }
  return manifest;
};
