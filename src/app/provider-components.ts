// Providers and media: provider clients, their callback URLs, and the media component with its sandbox.
import { BadSetting } from "../config/schema.ts";
import { type AllowsHost, readAllowed } from "../media/host-allowlist.ts";
import { logCalls } from "../providers/call-logging.ts";
import { type Callbacks, createCallbackUrls } from "../providers/callback-urls.ts";
import { callProvider } from "../providers/http-call.ts";
import type { Providers } from "../providers/port.ts";
import { createProviders } from "../providers/providers.ts";
import type { ComponentList } from "./component-list.ts";
import { createMediaComponent, type MediaComponent } from "./media-component.ts";
import type { ComponentsDeps } from "./service-types.ts";
import type { InputFiles } from "./upload-components.ts";

export type ProviderComponents = Pick<MediaComponent, "media" | "thumbnail" | "measureUpload"> & {
  callbacks: Callbacks;
  providers: Providers;
  /** Whether a host may be opened that is not public. */
  allowsHost: AllowsHost;
};

/** Creates the provider clients of the configuration. @throws BadSetting for a credential that cannot be sent. */
const createClients = (
  { settings, clock, log, store, callTimes, dialects }: ComponentsDeps,
  callbacks: Callbacks,
  { openInput }: Pick<InputFiles, "openInput">,
): Providers => {
  try {
    return createProviders({
      settings: settings.providers,
      nowMs: clock.nowMs,
      openInput,
      isOwned: async (provider, jobId) => (await store.jobOwner(provider, jobId)) !== undefined,
      callbackUrl: callbacks.urlFor,
      call: logCalls(callProvider, log),
      dialects,
      ...(callTimes ? { timeouts: callTimes } : {}),
    });
  } catch (fault) {
    throw new BadSetting(fault instanceof Error ? fault.message : String(fault));
  }
};

export const createProviderComponents = async (
  list: ComponentList,
  deps: ComponentsDeps,
  inputFiles: Pick<InputFiles, "openInput">,
): Promise<ProviderComponents> => {
  const { settings, store, storage } = deps;
  const callbacks = createCallbackUrls({ secretHex: await store.secret("callbacks"), publicUrl: settings.server.public_url });
  const providers = createClients(deps, callbacks, inputFiles);
  const named = readAllowed(settings.media.allow);
  const allowsHost: AllowsHost = deps.media?.guard === "off" ? () => true : named;
  const { files, spool, copies } = storage;
  const made = createMediaComponent({ settings, files, spool, copies }, providers, allowsHost, deps.media);
  const { media, thumbnail, measureUpload, close } = made;
  list.add({ name: "media sandbox", stop: close });
  return { callbacks, providers, allowsHost, media, thumbnail, measureUpload };
};
