// Shared code of the ladder's rungs: accounts, keys, the request and its response.
import { t } from "elysia";

export const ACCOUNTS = 5_000;
/** The number of rows before the first measurement. */
export const STORED = 10_000;
export const keyOf = (account: number): string => `sk_test_${String(account).padStart(6, "0")}9fKq2LmZx7RtV0bYc3NwPd8sHgJe5uAiXw`;

const PROMPT =
  "A slow dolly shot through a rain-soaked night market, neon signs reflecting in puddles, steam rising from food stalls, users " +
  "with transparent umbrellas walking past the camera, shallow depth of field, 35mm film grain, warm highlights and teal shadows, " +
  "gentle handheld sway, then the camera rises over the roofs and the sound of the rain grows while the lights blur into the dark.";
/** 535 bytes without links: the bench measures the admission, not downloads of inputs. */
export const BODY = JSON.stringify({
  model: "vidmodel-2.0-fast",
  input: { prompt: PROMPT, resolution: "720p", duration: 5, aspect_ratio: "16:9", audio: false },
  max_cost_usd: 10,
  max_wait_s: 86_400,
});

const link = () => t.Optional(t.String({ maxLength: 4_096, pattern: "^https://" }));
/** The envelope and every field of an input (§2.5, §2.6), as far as a check compiled from a schema goes. */
export const Submission = t.Object(
  {
    model: t.String({ minLength: 1, maxLength: 80 }),
    input: t.Object(
      {
        prompt: t.Optional(t.String({ minLength: 1, maxLength: 30_000 })),
        negative_prompt: t.Optional(t.String({ maxLength: 5_000 })),
        ...{ image_url: link(), end_image_url: link(), video_url: link(), audio_url: link() },
        image_urls: t.Optional(t.Array(t.String({ maxLength: 4_096, pattern: "^https://" }), { minItems: 1, maxItems: 30 })),
        resolution: t.Optional(t.String()),
        aspect_ratio: t.Optional(t.String()),
        duration: t.Optional(t.Integer({ minimum: 1, maximum: 300 })),
        audio: t.Optional(t.Boolean()),
        quality: t.Optional(t.String()),
        seed: t.Optional(t.Integer({ minimum: 0, maximum: 4_294_967_295 })),
      },
      { additionalProperties: false },
    ),
    max_cost_usd: t.Optional(t.Number({ exclusiveMinimum: 0, maximum: 100 })),
    max_wait_s: t.Optional(t.Integer({ minimum: 1, maximum: 86_400 })),
  },
  { additionalProperties: false },
);

const CREDITS_PER_S: Readonly<Record<string, number>> = { "480p": 5, "720p": 11 };
/** Credits of a submission by a small table, as a minimal price computation. */
export const priceOf = (input: { resolution?: string; duration?: number }): number =>
  (CREDITS_PER_S[input.resolution ?? "720p"] ?? 11) * (input.duration ?? 5);

/** The resource that a submission returns. */
export const shownOf = (id: string, credits: number, createdAt: string) => ({
  id,
  object: "generation",
  model: "vidmodel-2.0-fast",
  status: "queued",
  output: null,
  quoted_usd: credits / 100,
  reserved_usd: credits / 100,
  cost_usd: null,
  attempts: 0,
  error: null,
  created_at: createdAt,
  completed_at: null,
});

const JSON_TYPE = { "content-type": "application/json" };
export const answerJson = (status: number, json: string): Response => new Response(json, { status, headers: JSON_TYPE });

/** Accounts by the hash of their key, as in a service. */
export const accountsByKey = (): ReadonlyMap<string, number> =>
  new Map(Array.from({ length: ACCOUNTS }, (_, account) => [Bun.SHA256.hash(keyOf(account), "hex"), account]));

/** The account of a request's key. */
export const accountOf = (request: Request, byKey: ReadonlyMap<string, number>): number | undefined => {
  const header = request.headers.get("authorization");
  return header?.startsWith("Bearer ") ? byKey.get(Bun.SHA256.hash(header.slice("Bearer ".length), "hex")) : undefined;
};
