// List of the cases of all dialects under test.
import { bfl } from "./bfl.ts";
import type { DialectCase } from "./contract.ts";
import { dashscope } from "./dashscope.ts";
import { elevenlabs } from "./elevenlabs.ts";
import { gemini } from "./gemini.ts";
import { geminiVideo } from "./gemini-video.ts";
import { higgsfield } from "./higgsfield.ts";
import { kling } from "./kling.ts";
import { luma } from "./luma.ts";
import { minimax } from "./minimax.ts";
import { minimaxSpeech } from "./minimax-speech.ts";
import { modelark } from "./modelark.ts";
import { openai } from "./openai.ts";
import { openaiVideo } from "./openai-video.ts";
import { pixverse } from "./pixverse.ts";
import { runware } from "./runware.ts";
import { runway } from "./runway.ts";
import { stability } from "./stability.ts";
import { together } from "./together.ts";
import { togetherVideo } from "./together-video.ts";
import { vidu } from "./vidu.ts";
import { wavespeed } from "./wavespeed.ts";

export const CASES: readonly DialectCase[] = [
  ...bfl,
  ...dashscope,
  ...elevenlabs,
  ...geminiVideo,
  ...gemini,
  ...higgsfield,
  ...kling,
  ...luma,
  ...minimaxSpeech,
  ...minimax,
  ...modelark,
  ...openaiVideo,
  ...openai,
  ...pixverse,
  ...runware,
  ...runway,
  ...stability,
  ...togetherVideo,
  ...together,
  ...vidu,
  ...wavespeed,
];
