// Making in the console's API: the models, what a request would cost, generations with their files, and what is new of them.
import { Type } from "@sinclair/typebox";
import type { ModelEntry } from "../../catalogue/public-model.ts";
import type { Clock } from "../domain/clock.ts";
import type { Json } from "../domain/types.ts";
import type { Watch } from "../generations/post-commit.ts";
import type { Quote } from "../generations/preview.ts";
import { type Shelf, shelfOf } from "../http/endpoints/content.ts";
import type { Log } from "../logging/events.ts";
import { NEWS_HEADERS, type NewsParts, openNews } from "./event-stream.ts";
import { accountAsked, type GenerationRoutesParts, generationRoutes, seesAll } from "./generation-routes.ts";
import type { ModelsTold } from "./generations-dto.ts";
import { openPlaygroundKeys, type PlaygroundKeyParts } from "./playground-key.ts";
import { quoteTold } from "./quotes.ts";
import type { ConsoleAsk, ConsoleRoute } from "./request-context.ts";
import type { SessionDesk } from "./router.ts";

/** What the service itself gives; the rest belongs to sessions and accounts. */
export type MakingService = Pick<GenerationRoutesParts, "submit" | "count" | "thumbnail"> & {
  reads: GenerationRoutesParts["reads"] & PlaygroundKeyParts["reads"] & NewsParts["reads"];
  elsewhere: NewsParts["elsewhere"];
  mode: "test" | "live";
  clock: Clock;
  log: Log;
  quote: Quote;
  models: () => { entries: readonly ModelEntry[] };
  files: Shelf["files"];
  through: NonNullable<Shelf["through"]>;
  /** How long files are kept, seconds. */
  keepFilesS: number;
  watch: Watch;
  closing: AbortSignal;
  /** Lets an answer that never ends rest for as long as it likes. */
  keepOpen: (request: Request) => void;
  soon: (then: () => void) => void;
};
export type MakingParts = MakingService &
  Pick<PlaygroundKeyParts, "post"> &
  Pick<GenerationRoutesParts, "hasInspector" | "looks"> & { sessions: Pick<SessionDesk, "cookieOf" | "isStillIn"> };

const REQUEST = Type.Record(Type.String(), Type.Unknown());

export const makingRoutes = (parts: MakingParts): ConsoleRoute[] => {
  const { sessions } = parts;
  const { reads, clock, quote, models, keepFilesS } = parts;
  const shelf = { ...shelfOf(parts.files, parts, keepFilesS), through: parts.through };
  const kindOf = (id: string) => models().entries.find((model) => model.id === id)?.kind ?? null;
  const news = openNews({
    reads,
    clock,
    watch: parts.watch,
    elsewhere: parts.elsewhere,
    soon: parts.soon,
    closing: parts.closing,
  });
  return [
    {
      ...{ method: "GET", path: "/console/api/models", who: "person" },
      answer: async (): Promise<ModelsTold> => ({ mode: parts.mode, models: models().entries }),
    },
    {
      ...{ method: "POST", path: "/console/api/quote", who: "person", body: REQUEST },
      answer: async (ask: ConsoleAsk) => quoteTold(quote, ask.body as Json, seesAll(ask)),
    },
    {
      ...{ method: "GET", path: "/console/api/events", who: "person" },
      answer: async (ask: ConsoleAsk) => {
        const account = await accountAsked(reads, ask);
        // Its head alone: a stream that nobody reads would never be answered.
        if (ask.request.method === "HEAD") return new Response(null, { headers: NEWS_HEADERS });
        const { role, personId, accountSeq, accountId } = ask.who;
        const own = accountSeq === null || accountId === null ? null : { seq: accountSeq, id: accountId };
        const token = sessions.cookieOf(ask.request) ?? "";
        const answer = await news(ask.request, { account, own, personId, isStillIn: () => sessions.isStillIn(token, role) });
        parts.keepOpen(ask.request);
        return answer;
      },
    },
    ...generationRoutes({
      ...parts,
      shelf,
      consoleCaller: openPlaygroundKeys(parts),
      telling: { kindOf, keepFilesMs: keepFilesS * 1000, isOver: shelf.isOver },
      modelsOf: (kind) => models().entries.flatMap((model) => (model.kind === kind ? [model.id] : [])),
      breathe: () => new Promise((turn) => parts.soon(turn)),
    }),
  ];
};
