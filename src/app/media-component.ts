// Creates the media component: downloads, thumbnails and the sandbox.
import type { Settings } from "../config/schema.ts";
import type { Copies } from "../files/input-copies.ts";
import type { AllowsHost } from "../media/host-allowlist.ts";
import { createMeasureUpload, type MeasureUpload } from "../media/measure-upload.ts";
import { createMedia, type MediaOptions } from "../media/media.ts";
import type { Media } from "../media/port.ts";
import { createSandbox, type Sandbox } from "../media/sandbox/sandbox.ts";
import { createThumbnail, type Thumbnail } from "../media/thumbnail.ts";
import type { Providers } from "../providers/port.ts";

export type MediaComponent = { media: Media; thumbnail: Thumbnail; measureUpload: MeasureUpload; close(): Promise<void> };

/** `sandbox`: one that outlives the service. */
export type MediaComponentOptions = Pick<MediaOptions, "resolve" | "guard"> & { sandbox?: Sandbox };

const hostOf = (url: string | undefined): string | null => (url === undefined ? null : new URL(url).host);

export const createMediaComponent = (
  { settings, files, spool, copies }: Pick<MediaOptions, "files" | "spool"> & { settings: Settings; copies: Copies },
  providers: Providers,
  allows: AllowsHost,
  { sandbox: given, ...more }: MediaComponentOptions = {},
): MediaComponent => {
  const sandbox = given ?? createSandbox({ workers: settings.media.workers });
  const media = createMedia({
    files,
    spool,
    sandbox,
    allows,
    keyFor: providers.fileHeaders,
    allowsResult: (provider, host) => hostOf(settings.providers[provider]?.base_url) === host,
    resultBytes: settings.limits.result_bytes,
    convertPixels: settings.media.convert_pixels,
    pins: { copies, mostBytes: settings.media.pin_bytes, timeoutMs: settings.media.pin_s * 1000 },
    budget: { bytes: settings.media.read_bytes },
    ...more,
  });
  const measureUpload = createMeasureUpload(sandbox);
  return { media, thumbnail: createThumbnail(sandbox), measureUpload, close: async () => (given ? undefined : sandbox.close()) };
};
