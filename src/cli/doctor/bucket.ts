// Doctor checks of result storage: files, bucket settings and bucket availability.

import type { Settings } from "../../config/schema.ts";
import { systemClock } from "../../domain/clock.ts";
import { requireBucket } from "../../files/create-storage.ts";
import { counted } from "../backup-text.ts";
import { type FileReads, findMissingFiles } from "../missing-files.ts";
import { type Finding, fault, ok, textOf, warning } from "./finding.ts";

const PATIENCE_MS = 10_000;
/** Prefix that no generation has, so that the list is empty. */
const PROBE_ID = "gen_doctor";

const requestBucket = async (s3: Settings["s3"]): Promise<Finding> => {
  const [{ createS3Client }, { BucketError }] = await Promise.all([
    import("../../files/s3/s3-client.ts"),
    import("../../files/s3/errors.ts"),
  ]);
  try {
    await createS3Client(s3, systemClock()).list(PROBE_ID, AbortSignal.timeout(PATIENCE_MS));
    return ok("files", `the bucket ${s3.bucket} responds`);
  } catch (thrown) {
    if (!(thrown instanceof BucketError))
      return fault(
        "files",
        `the bucket ${s3.bucket} does not respond within ${PATIENCE_MS / 1000} s`,
        `check ${s3.endpoint || "it"}`,
      );
    if (thrown.kind === "unavailable")
      return fault(
        "files",
        `the bucket ${s3.bucket} cannot be reached: ${thrown.message}`,
        "results wait on disk until it responds",
      );
    return fault(
      "files",
      `the bucket ${s3.bucket} refuses (${thrown.code}): ${thrown.message}`,
      "correct GENROUTER_S3__ACCESS_KEY and GENROUTER_S3__SECRET_KEY, or the permissions of that key (deploy/S3.md), and restart the service",
    );
  }
};

/** @param shared true if several nodes share the store */
export const bucketFindings = async (settings: Settings, shared: boolean): Promise<Finding[]> => {
  try {
    // Checked even if files are stored on disk now, because older files may be in a bucket.
    await requireBucket(settings, shared);
  } catch (thrown) {
    return [fault("files", textOf(thrown), "correct the settings of s3: genrouter config check")];
  }
  return settings.s3.bucket === "" ? [] : [await requestBucket(settings.s3)];
};

/** Checks that each result file named in the store exists. */
export const storedFilesFinding = async (reads: FileReads, settings: Settings, nowMs: number): Promise<Finding> => {
  try {
    const { looked, missing, note } = await findMissingFiles(reads, { settings, dir: settings.data.dir, nowMs });
    if (note !== undefined) return warning("files", note, "genrouter doctor --deep on the machine that has them");
    const [first] = missing;
    if (first === undefined) return ok("files", `${counted(looked, "result file")}, and all exist`);
    return fault(
      "files",
      `${missing.length} of ${counted(looked, "result file")} cannot be read, the first ${first.n} of ${first.generation_id}: ${first.why}`,
      "restore them from a backup (genrouter backup list); genrouter verify lists all",
    );
  } catch (thrown) {
    return fault("files", `not all result files could be checked: ${textOf(thrown)}`, "genrouter doctor --deep again");
  }
};
