// Generation endpoints of the console API: models, quotes, generations, their files, uploaded files and events.
import { Type } from "@sinclair/typebox";
import type { ModelEntry } from "../../catalogue/public-model.ts";
import type { Clock } from "../domain/clock.ts";
import type { Json } from "../domain/types.ts";
import { EVENT_STREAM_HEADERS } from "../event-streams/stream.ts";
import type { CommitListener } from "../generations/post-commit.ts";
import type { Preview } from "../generations/preview.ts";
import { type StoredResults, storedResultsOf } from "../http/endpoints/content.ts";
import type { Log } from "../logging/events.ts";
import type { Thumbnail } from "../media/thumbnail.ts";
import { type ConsoleEventsDeps, createConsoleEvents } from "./console-events.ts";
import { type FileRoutesDeps, fileRoutes } from "./file-routes.ts";
import { type GenerationRoutesDeps, generationRoutes, requestedAccount, seesAll } from "./generation-routes.ts";
import type { ModelsDto } from "./generations-dto.ts";
import { createPlaygroundKeys, type PlaygroundKeyDeps } from "./playground-key.ts";
import { quoteDto } from "./quotes.ts";
import type { ConsoleRequest, ConsoleRoute } from "./request-context.ts";
import type { SessionService } from "./router.ts";
import { createThumbnails } from "./thumbnails.ts";

/** Parts that the service provides; the others belong to sessions and accounts. */
export type GenerationService = Pick<GenerationRoutesDeps, "submit" | "cancel" | "erase" | "count"> &
  Pick<FileRoutesDeps, "uploads" | "uploadedFiles" | "links"> & {
    thumbnail: Thumbnail;
    reads: GenerationRoutesDeps["reads"] & PlaygroundKeyDeps["reads"] & ConsoleEventsDeps["reads"];
    elsewhere: ConsoleEventsDeps["elsewhere"];
    mode: "test" | "live";
    clock: Clock;
    log: Log;
    preview: Preview;
    models: () => { entries: readonly ModelEntry[] };
    /** Usual time of the fastest route of a model, s; null for a model without routes. */
    expectedS: (modelId: string) => number | null;
    files: StoredResults["files"];
    through: NonNullable<StoredResults["through"]>;
    /** Retention of files, s. */
    keepFilesS: number;
    watch: CommitListener;
    closing: AbortSignal;
    /** Disables the idle timeout of a streaming response. */
    keepOpen: (request: Request) => void;
    soon: (then: () => void) => void;
  };
export type GenerationServiceDeps = GenerationService &
  Pick<PlaygroundKeyDeps, "post"> &
  Pick<GenerationRoutesDeps, "hasInspector" | "accessAudit"> & { sessions: Pick<SessionService, "cookieOf" | "isStillIn"> };

const REQUEST = Type.Record(Type.String(), Type.Unknown());

export const submissionRoutes = (deps: GenerationServiceDeps): ConsoleRoute[] => {
  const { sessions } = deps;
  const { reads, clock, preview, models, keepFilesS } = deps;
  const results = { ...storedResultsOf(deps.files, deps, keepFilesS), through: deps.through };
  const kindOf = (id: string) => models().entries.find((model) => model.id === id)?.kind ?? null;
  const thumb = createThumbnails(deps.thumbnail);
  const consoleCaller = createPlaygroundKeys(deps);
  const news = createConsoleEvents({
    reads,
    clock,
    watch: deps.watch,
    elsewhere: deps.elsewhere,
    soon: deps.soon,
    closing: deps.closing,
  });
  return [
    {
      ...{ method: "GET", path: "/console/api/models", who: "user" },
      answer: async (): Promise<ModelsDto> => ({
        mode: deps.mode,
        models: models().entries.map((entry) => ({ ...entry, expectedS: deps.expectedS(entry.id) })),
      }),
    },
    {
      ...{ method: "POST", path: "/console/api/quote", who: "user", body: REQUEST },
      answer: async (request: ConsoleRequest) => quoteDto(preview, request.body as Json, seesAll(request)),
    },
    {
      ...{ method: "GET", path: "/console/api/events", who: "user" },
      answer: async (request: ConsoleRequest) => {
        const account = await requestedAccount(reads, request);
        // Answers HEAD without a stream, because a stream without a reader would never complete.
        if (request.request.method === "HEAD") return new Response(null, { headers: EVENT_STREAM_HEADERS });
        const { role, userId, accountSeq, accountId } = request.who;
        const own = accountSeq === null || accountId === null ? null : { seq: accountSeq, id: accountId };
        const token = sessions.cookieOf(request.request) ?? "";
        const answer = await news(request.request, { account, own, userId, isStillIn: () => sessions.isStillIn(token, role) });
        deps.keepOpen(request.request);
        return answer;
      },
    },
    ...generationRoutes({
      ...deps,
      results,
      thumb,
      consoleCaller,
      viewOptions: { kindOf, keepFilesMs: keepFilesS * 1000, isOver: results.isOver },
      modelsOf: (kind) => models().entries.flatMap((model) => (model.kind === kind ? [model.id] : [])),
      breathe: () => new Promise((turn) => deps.soon(turn)),
    }),
    ...fileRoutes({ ...deps, thumb, consoleCaller }),
  ];
};
