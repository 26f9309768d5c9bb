// Registry of the simulated dialects: base path, credential and handler of each.

import type { Bench } from "./accept-job.ts";
import { handleBfl } from "./dialects/bfl.ts";
import { handleDashscope } from "./dialects/dashscope.ts";
import { handleElevenLabs } from "./dialects/elevenlabs.ts";
import { handleGemini } from "./dialects/gemini.ts";
import { handleGeminiVideo } from "./dialects/gemini-video.ts";
import { handleHiggsfield } from "./dialects/higgsfield.ts";
import { handleKling } from "./dialects/kling.ts";
import { handleLuma } from "./dialects/luma.ts";
import { handleMinimax } from "./dialects/minimax.ts";
import { handleMinimaxSpeech } from "./dialects/minimax-speech.ts";
import { handleModelArk } from "./dialects/modelark.ts";
import { handleOpenAI } from "./dialects/openai.ts";
import { handleOpenAIVideo } from "./dialects/openai-video.ts";
import { handlePixVerse } from "./dialects/pixverse.ts";
import { handleRunware } from "./dialects/runware.ts";
import { handleRunway } from "./dialects/runway.ts";
import { handleStability } from "./dialects/stability.ts";
import { handleTogether } from "./dialects/together.ts";
import { handleTogetherVideo } from "./dialects/together-video.ts";
import { handleVidu } from "./dialects/vidu.ts";
import { handleWaveSpeed } from "./dialects/wavespeed.ts";
import { answerFal } from "./fal.ts";
import type { Answer, SimulatorRequest } from "./http-server.ts";
import { answerReplicate } from "./replicate.ts";

/** Handles a request; `path` follows the base path of the dialect, e.g. `/predictions/ID`. */
export type DialectHandler = (bench: Bench, request: SimulatorRequest, path: string) => Promise<Answer>;
/** `base`: the path of the provider's base URL at the simulator; `credential`: the header that carries the credential. */
export type SimulatedDialect = {
  base: string;
  /** A second path for the same interface under another version. */
  alias?: string;
  /** A WebSocket at `base` accepts requests as text messages. */
  hasSockets?: true;
  credential: string;
  speak: DialectHandler;
};

export const SIMULATED_DIALECTS: Readonly<Record<string, SimulatedDialect>> = {
  fal: { base: "/fal", credential: "Authorization: Key ANY", speak: answerFal },
  replicate: { base: "/replicate/v1", credential: "Authorization: Bearer ANY", speak: answerReplicate },
  bfl: { base: "/bfl/v1", credential: "x-key: ANY", speak: handleBfl },
  dashscope: { base: "/dashscope", credential: "Authorization: Bearer ANY", speak: handleDashscope },
  elevenlabs: { base: "/elevenlabs", credential: "xi-api-key: ANY", speak: handleElevenLabs },
  gemini: { base: "/gemini/v1beta", alias: "/gemini/v1", credential: "x-goog-api-key: ANY", speak: handleGemini },
  "gemini-video": {
    ...{ base: "/gemini-video/v1beta", alias: "/gemini-video/v1" },
    ...{ credential: "x-goog-api-key: ANY", speak: handleGeminiVideo },
  },
  higgsfield: { base: "/higgsfield", credential: "Authorization: Key ANY:ANY", speak: handleHiggsfield },
  kling: { base: "/kling", credential: "Authorization: Bearer ANY, or a JWT", speak: handleKling },
  luma: { base: "/luma/dream-machine/v1", credential: "Authorization: Bearer ANY", speak: handleLuma },
  minimax: { base: "/minimax", credential: "Authorization: Bearer ANY", speak: handleMinimax },
  "minimax-speech": { base: "/minimax-speech", credential: "Authorization: Bearer ANY", speak: handleMinimaxSpeech },
  modelark: { base: "/modelark/api/v3", credential: "Authorization: Bearer ANY", speak: handleModelArk("modelark") },
  openai: { base: "/openai/v1", credential: "Authorization: Bearer ANY", speak: handleOpenAI },
  "openai-video": { base: "/openai-video/v1", credential: "Authorization: Bearer ANY", speak: handleOpenAIVideo },
  pixverse: { base: "/pixverse/openapi/v2", credential: "API-KEY: ANY", speak: handlePixVerse },
  runware: { base: "/runware/v1", hasSockets: true, credential: "Authorization: Bearer ANY", speak: handleRunware },
  runway: { base: "/runway", credential: "Authorization: Bearer ANY", speak: handleRunway },
  stability: { base: "/stability", credential: "Authorization: Bearer ANY", speak: handleStability },
  together: { base: "/together/v1", credential: "Authorization: Bearer ANY", speak: handleTogether },
  "together-video": { base: "/together-video/v2", credential: "Authorization: Bearer ANY", speak: handleTogetherVideo },
  vidu: { base: "/vidu", credential: "Authorization: Token ANY", speak: handleVidu },
  volcengine: { base: "/volcengine/api/v3", credential: "Authorization: Bearer ANY", speak: handleModelArk("volcengine") },
  wavespeed: { base: "/wavespeed/api/v3", credential: "Authorization: Bearer ANY", speak: handleWaveSpeed },
};

/** The base URL of each dialect at a simulator. */
export const baseUrlsAt = (url: string): Record<string, string> =>
  Object.fromEntries(Object.entries(SIMULATED_DIALECTS).map(([id, { base }]) => [id, `${url}${base}`]));

const settingOf = (id: string): string => `GENROUTER_PROVIDERS__${id.toUpperCase().replaceAll("-", "_")}`;

/** The settings that send a service's calls of all providers to a simulator, as environment variables. */
export const settingsLeadingTo = (url: string): Record<string, string> => ({
  ...Object.fromEntries(Object.entries(baseUrlsAt(url)).map(([id, baseUrl]) => [`${settingOf(id)}__BASE_URL`, baseUrl])),
  GENROUTER_MEDIA__ALLOW: new URL(url).host,
});

/** A credential for each provider; the simulator accepts any. */
export const anyKeys = (): Record<string, string> =>
  Object.fromEntries(Object.keys(SIMULATED_DIALECTS).map((id) => [`${settingOf(id)}__KEY`, "simulated"]));
