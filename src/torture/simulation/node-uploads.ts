// Uploads of one life of a node: the upload service, the sweep and the stored files of inputs, with simulated storage.
import type { Engine, EngineDeps } from "../../app/engine-types.ts";
import { refuse } from "../../domain/api-errors.ts";
import { createOwnLinks } from "../../inputs/own-links.ts";
import type { Log } from "../../logging/events.ts";
import type { MeasureUpload } from "../../media/measure-upload.ts";
import { cheapestJob } from "../../quote/minimum-price.ts";
import type { Store } from "../../store/store.ts";
import { createOwnFiles } from "../../uploads/own-files.ts";
import { createUploadSweeper } from "../../uploads/sweep-uploads.ts";
import { createUploadService, type UploadService } from "../../uploads/upload-service.ts";
import type { Faults } from "./faults.ts";
import type { NodeLife } from "./node-life.ts";
import type { Rng } from "./rng.ts";
import { createUploadStorage, type UploadStorage } from "./stored-uploads.ts";
import { clipMs } from "./upload-contents.ts";
import type { UploadWorld } from "./upload-world.ts";

/** Interval of the sweep, as in the service. */
const SWEEP_MS = 60_000;
/** More than the reserve of an upload. */
const FREE_BYTES = 1e12;

/** The stored files that an input can name. @param keepFilesS retention of result files */
export const createUploadInputs = (
  { life, dice, store }: { life: NodeLife; dice: Rng; store: Store },
  { links, limits, isStored }: UploadWorld,
  keepFilesS: number,
): Pick<EngineDeps["inputs"], "ownFiles" | "hasFile"> => {
  const { clock } = life;
  const own = createOwnFiles({ read: createOwnLinks(() => ["https://us.test"]), reads: store, links, clock, keepFilesS });
  return {
    hasFile: async (file) => {
      await life.cross("read");
      return isStored(file);
    },
    ownFiles: {
      isOwn: own.isOwn,
      find: async (link, caller) => {
        const found = await own.find(link, caller);
        // The file may be deleted before the admission.
        await life.sleep(dice.between(0, 20));
        return found;
      },
      open: (file) => async () => (isStored(file) ? new Response(null) : undefined),
      keepMs: limits.upload_retention_s * 1000,
    },
  };
};

/** Reads the length from the words of a clip, as a sandbox process reads it from a file. */
const createMeasure =
  (life: NodeLife, dice: Rng, { received }: UploadStorage): MeasureUpload =>
  async ({ path }) => {
    await life.cross("upload: body received");
    await life.sleep(dice.between(5, 400));
    const ms = clipMs(received(path) ?? new Uint8Array());
    if (ms === undefined) return refuse("invalid_input", "file: the media cannot be read: it is a text");
    return { kind: "video", mime: "video/mp4", width: 1280, height: 720, ms };
  };

export const createNodeUploads = (of: {
  life: NodeLife;
  dice: Rng;
  faults: () => Faults;
  store: Store;
  engine: Pick<Engine, "post" | "admission" | "routes">;
  log: Log;
  uploads: UploadWorld;
  isUnavailable: () => boolean;
  /** Whether this node sweeps for all. */
  isFirst: () => boolean;
}): UploadService => {
  const { life, dice, faults, store, engine, log, uploads, isUnavailable } = of;
  const { clock } = life;
  const { post, admission, routes } = engine;
  const { stored, oracle, limits } = uploads;
  const storage = createUploadStorage({ life, dice, faults, stored, isUnavailable, removing: oracle.removing });
  const sweep = createUploadSweeper({ reads: store, post, clock, storage, parts: storage });
  const sweepAgain = () => {
    clock.after(SWEEP_MS, sweepAgain);
    if (of.isFirst()) sweep().catch(() => undefined);
  };
  clock.after(SWEEP_MS, sweepAgain);
  return createUploadService({
    ...{ reads: store, post, clock, log, storage, admission, limits },
    freeBytes: async () => FREE_BYTES,
    measure: createMeasure(life, dice, storage),
    cheapest: () => cheapestJob(routes.catalogue().models, (routeId) => routes.state(routeId) !== "unconfigured"),
  });
};
