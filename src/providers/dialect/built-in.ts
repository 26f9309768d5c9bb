// The dialect files that the service ships with, embedded into the binary by name.
import bfl from "../dialects/bfl.json";
import dashscope from "../dialects/dashscope.json";
import elevenlabs from "../dialects/elevenlabs.json";
import gemini from "../dialects/gemini.json";
import geminiVideo from "../dialects/gemini-video.json";
import higgsfield from "../dialects/higgsfield.json";
import kling from "../dialects/kling.json";
import luma from "../dialects/luma.json";
import minimax from "../dialects/minimax.json";
import minimaxSpeech from "../dialects/minimax-speech.json";
import modelark from "../dialects/modelark.json";
import openai from "../dialects/openai.json";
import openaiVideo from "../dialects/openai-video.json";
import pixverse from "../dialects/pixverse.json";
import runware from "../dialects/runware.json";
import runway from "../dialects/runway.json";
import stability from "../dialects/stability.json";
import together from "../dialects/together.json";
import togetherVideo from "../dialects/together-video.json";
import vidu from "../dialects/vidu.json";
import volcengine from "../dialects/volcengine.json";
import wavespeed from "../dialects/wavespeed.json";

export const BUILT_IN_DIALECTS: Readonly<Record<string, unknown>> = {
  "bfl.json": bfl,
  "dashscope.json": dashscope,
  "elevenlabs.json": elevenlabs,
  "gemini.json": gemini,
  "gemini-video.json": geminiVideo,
  "higgsfield.json": higgsfield,
  "kling.json": kling,
  "luma.json": luma,
  "minimax.json": minimax,
  "minimax-speech.json": minimaxSpeech,
  "modelark.json": modelark,
  "openai.json": openai,
  "openai-video.json": openaiVideo,
  "pixverse.json": pixverse,
  "runware.json": runware,
  "runway.json": runway,
  "stability.json": stability,
  "together.json": together,
  "together-video.json": togetherVideo,
  "vidu.json": vidu,
  "volcengine.json": volcengine,
  "wavespeed.json": wavespeed,
};
