// Every dialect that the simulator speaks: where it is below the simulator's address, and who answers there.

import type { Bench } from "./accept-job.ts";
import { speakBfl } from "./dialects/bfl.ts";
import { speakDashscope } from "./dialects/dashscope.ts";
import { speakElevenLabs } from "./dialects/elevenlabs.ts";
import { speakGemini } from "./dialects/gemini.ts";
import { speakGeminiVideo } from "./dialects/gemini-video.ts";
import { speakHiggsfield } from "./dialects/higgsfield.ts";
import { speakKling } from "./dialects/kling.ts";
import { speakLuma } from "./dialects/luma.ts";
import { speakMinimax } from "./dialects/minimax.ts";
import { speakMinimaxSpeech } from "./dialects/minimax-speech.ts";
import { speakModelArk } from "./dialects/modelark.ts";
import { speakOpenAI } from "./dialects/openai.ts";
import { speakOpenAIVideo } from "./dialects/openai-video.ts";
import { speakPixVerse } from "./dialects/pixverse.ts";
import { speakRunware } from "./dialects/runware.ts";
import { speakRunway } from "./dialects/runway.ts";
import { speakStability } from "./dialects/stability.ts";
import { speakTogether } from "./dialects/together.ts";
import { speakTogetherVideo } from "./dialects/together-video.ts";
import { speakVidu } from "./dialects/vidu.ts";
import { speakWaveSpeed } from "./dialects/wavespeed.ts";
import { answerFal } from "./fal.ts";
import type { Answer, Ask } from "./http-server.ts";
import { answerReplicate } from "./replicate.ts";

/** Answers a request; `path` is what follows the base address of the dialect, e.g. `/predictions/ID`. */
export type Speak = (bench: Bench, ask: Ask, path: string) => Promise<Answer>;
/** `base`: the path that a provider's base URL has at the simulator; `credential`: how a request says who it is. */
export type Speaker = {
  base: string;
  /** Where else it is: the same interface under another version. */
  alias?: string;
  /** Requests also come as texts of a WebSocket at `base`. */
  hasSockets?: true;
  credential: string;
  speak: Speak;
};

export const SPEAKERS: Readonly<Record<string, Speaker>> = {
  fal: { base: "/fal", credential: "Authorization: Key ANY", speak: answerFal },
  replicate: { base: "/replicate/v1", credential: "Authorization: Bearer ANY", speak: answerReplicate },
  bfl: { base: "/bfl/v1", credential: "x-key: ANY", speak: speakBfl },
  dashscope: { base: "/dashscope", credential: "Authorization: Bearer ANY", speak: speakDashscope },
  elevenlabs: { base: "/elevenlabs", credential: "xi-api-key: ANY", speak: speakElevenLabs },
  gemini: { base: "/gemini/v1beta", alias: "/gemini/v1", credential: "x-goog-api-key: ANY", speak: speakGemini },
  "gemini-video": {
    ...{ base: "/gemini-video/v1beta", alias: "/gemini-video/v1" },
    ...{ credential: "x-goog-api-key: ANY", speak: speakGeminiVideo },
  },
  higgsfield: { base: "/higgsfield", credential: "Authorization: Key ANY:ANY", speak: speakHiggsfield },
  kling: { base: "/kling", credential: "Authorization: Bearer ANY, or a JWT", speak: speakKling },
  luma: { base: "/luma/dream-machine/v1", credential: "Authorization: Bearer ANY", speak: speakLuma },
  minimax: { base: "/minimax", credential: "Authorization: Bearer ANY", speak: speakMinimax },
  "minimax-speech": { base: "/minimax-speech", credential: "Authorization: Bearer ANY", speak: speakMinimaxSpeech },
  modelark: { base: "/modelark/api/v3", credential: "Authorization: Bearer ANY", speak: speakModelArk("modelark") },
  openai: { base: "/openai/v1", credential: "Authorization: Bearer ANY", speak: speakOpenAI },
  "openai-video": { base: "/openai-video/v1", credential: "Authorization: Bearer ANY", speak: speakOpenAIVideo },
  pixverse: { base: "/pixverse/openapi/v2", credential: "API-KEY: ANY", speak: speakPixVerse },
  runware: { base: "/runware/v1", hasSockets: true, credential: "Authorization: Bearer ANY", speak: speakRunware },
  runway: { base: "/runway", credential: "Authorization: Bearer ANY", speak: speakRunway },
  stability: { base: "/stability", credential: "Authorization: Bearer ANY", speak: speakStability },
  together: { base: "/together/v1", credential: "Authorization: Bearer ANY", speak: speakTogether },
  "together-video": { base: "/together-video/v2", credential: "Authorization: Bearer ANY", speak: speakTogetherVideo },
  vidu: { base: "/vidu", credential: "Authorization: Token ANY", speak: speakVidu },
  volcengine: { base: "/volcengine/api/v3", credential: "Authorization: Bearer ANY", speak: speakModelArk("volcengine") },
  wavespeed: { base: "/wavespeed/api/v3", credential: "Authorization: Bearer ANY", speak: speakWaveSpeed },
};

/** Where each dialect is spoken by the simulator at an address. */
export const baseUrlsAt = (url: string): Record<string, string> =>
  Object.fromEntries(Object.entries(SPEAKERS).map(([id, { base }]) => [id, `${url}${base}`]));

const settingOf = (id: string): string => `GENROUTER_PROVIDERS__${id.toUpperCase().replaceAll("-", "_")}`;

/** The settings that lead a service's calls of every provider to the simulator at an address, as environment variables. */
export const settingsLeadingTo = (url: string): Record<string, string> => ({
  ...Object.fromEntries(Object.entries(baseUrlsAt(url)).map(([id, baseUrl]) => [`${settingOf(id)}__BASE_URL`, baseUrl])),
  GENROUTER_MEDIA__ALLOW: new URL(url).host,
});

/** A key of every provider, which the simulator takes. */
export const anyKeys = (): Record<string, string> =>
  Object.fromEntries(Object.keys(SPEAKERS).map((id) => [`${settingOf(id)}__KEY`, "simulated"]));
