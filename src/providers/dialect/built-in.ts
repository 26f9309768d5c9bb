// The dialect files that ship with the service, embedded in the binary.
import bfl from "../../../catalogue/dialects/bfl.json";
import dashscope from "../../../catalogue/dialects/dashscope.json";
import elevenlabs from "../../../catalogue/dialects/elevenlabs.json";
import gemini from "../../../catalogue/dialects/gemini.json";
import geminiVideo from "../../../catalogue/dialects/gemini-video.json";
import higgsfield from "../../../catalogue/dialects/higgsfield.json";
import kling from "../../../catalogue/dialects/kling.json";
import luma from "../../../catalogue/dialects/luma.json";
import minimax from "../../../catalogue/dialects/minimax.json";
import minimaxSpeech from "../../../catalogue/dialects/minimax-speech.json";
import modelark from "../../../catalogue/dialects/modelark.json";
import openai from "../../../catalogue/dialects/openai.json";
import openaiVideo from "../../../catalogue/dialects/openai-video.json";
import pixverse from "../../../catalogue/dialects/pixverse.json";
import runware from "../../../catalogue/dialects/runware.json";
import runway from "../../../catalogue/dialects/runway.json";
import stability from "../../../catalogue/dialects/stability.json";
import together from "../../../catalogue/dialects/together.json";
import togetherVideo from "../../../catalogue/dialects/together-video.json";
import vidu from "../../../catalogue/dialects/vidu.json";
import volcengine from "../../../catalogue/dialects/volcengine.json";
import wavespeed from "../../../catalogue/dialects/wavespeed.json";

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
