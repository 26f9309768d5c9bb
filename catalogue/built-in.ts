// The built-in model files, embedded into the binary by file name.
import aceStep from "./models/ace-step.json";
import chatterbox from "./models/chatterbox.json";
import elevenFlashV25 from "./models/eleven-flash-v2.5.json";
import elevenMultilingualV2 from "./models/eleven-multilingual-v2.json";
import elevenMusic1 from "./models/eleven-music-1.json";
import elevenMusic25 from "./models/eleven-music-2.5.json";
import elevenSoundEffects2 from "./models/eleven-sound-effects-2.json";
import elevenV3 from "./models/eleven-v3.json";
import elevenV4 from "./models/eleven-v4.json";
import elevenV4Turbo from "./models/eleven-v4-turbo.json";
import flux11ProUltra from "./models/flux-1.1-pro-ultra.json";
import flux2Dev from "./models/flux-2-dev.json";
import flux2Flex from "./models/flux-2-flex.json";
import flux2Max from "./models/flux-2-max.json";
import flux2Pro from "./models/flux-2-pro.json";
import flux2ProEdit from "./models/flux-2-pro-edit.json";
import flux3Video from "./models/flux-3-video.json";
import fluxKontextPro from "./models/flux-kontext-pro.json";
import gemini31FlashImage from "./models/gemini-3.1-flash-image.json";
import gemini3ProImage from "./models/gemini-3-pro-image.json";
import geminiOmniFlash from "./models/gemini-omni-flash.json";
import gen4Image from "./models/gen-4-image.json";
import gptImage25Flare from "./models/gpt-image-2.5-flare.json";
import gptImage25Sunburst from "./models/gpt-image-2.5-sunburst.json";
import gptImage2 from "./models/gpt-image-2.json";
import grokImagineImage from "./models/grok-imagine-image.json";
import grokImagineImage20 from "./models/grok-imagine-image-2.0.json";
import hailuo23 from "./models/hailuo-2.3.json";
import hailuo23Pro from "./models/hailuo-2.3-pro.json";
import happyhorse11 from "./models/happyhorse-1.1.json";
import hunyuanImage3 from "./models/hunyuan-image-3.json";
import ideogramV3 from "./models/ideogram-v3.json";
import kling25TurboPro from "./models/kling-2.5-turbo-pro.json";
import kling26Pro from "./models/kling-2.6-pro.json";
import kling3Pro from "./models/kling-3-pro.json";
import kling3Standard from "./models/kling-3-standard.json";
import klingLipsync from "./models/kling-lipsync.json";
import kokoro82m from "./models/kokoro-82m.json";
import ltx23Fast from "./models/ltx-2.3-fast.json";
import ltx23Pro from "./models/ltx-2.3-pro.json";
import lumaRay2 from "./models/luma-ray-2.json";
import lumaRayFlash2 from "./models/luma-ray-flash-2.json";
import lyria2 from "./models/lyria-2.json";
import lyria35 from "./models/lyria-3.5.json";
import lyria3 from "./models/lyria-3.json";
import lyria3Pro from "./models/lyria-3-pro.json";
import minimaxH3 from "./models/minimax-h3.json";
import minimaxMusic26 from "./models/minimax-music-2.6.json";
import minimaxSpeech28Hd from "./models/minimax-speech-2.8-hd.json";
import minimaxSpeech28Turbo from "./models/minimax-speech-2.8-turbo.json";
import pixverseV6 from "./models/pixverse-v6.json";
import qwenImage from "./models/qwen-image.json";
import qwenImage2 from "./models/qwen-image-2.json";
import recraftCrispUpscale from "./models/recraft-crisp-upscale.json";
import recraftV3 from "./models/recraft-v3.json";
import recraftV4Pro from "./models/recraft-v4-pro.json";
import runwayGen45 from "./models/runway-gen-4.5.json";
import runwayGen4Turbo from "./models/runway-gen-4-turbo.json";
import seedance10Pro from "./models/seedance-1.0-pro.json";
import seedance15Pro from "./models/seedance-1.5-pro.json";
import seedream45 from "./models/seedream-4.5.json";
import seedream5Lite from "./models/seedream-5-lite.json";
import seedream5Pro from "./models/seedream-5-pro.json";
import simEdit1 from "./models/sim-edit-1.json";
import simImage1 from "./models/sim-image-1.json";
import simLipsync1 from "./models/sim-lipsync-1.json";
import simSpeech1 from "./models/sim-speech-1.json";
import simUpscale1 from "./models/sim-upscale-1.json";
import stableAudio25 from "./models/stable-audio-2.5.json";
import stableAudio3Medium from "./models/stable-audio-3-medium.json";
import stableDiffusion35Large from "./models/stable-diffusion-3.5-large.json";
import stableImageCore from "./models/stable-image-core.json";
import stableImageUltra from "./models/stable-image-ultra.json";
import syncLipsync2 from "./models/sync-lipsync-2.json";
import veedFabric10 from "./models/veed-fabric-1.0.json";
import vidmodel20 from "./models/vidmodel-2.0.json";
import vidmodel20Fast from "./models/vidmodel-2.0-fast.json";
import vidmodel20Mini from "./models/vidmodel-2.0-mini.json";
import vidmodel25 from "./models/vidmodel-2.5.json";
import viduQ3 from "./models/vidu-q3.json";
import wan27 from "./models/wan-2.7.json";
import wan30 from "./models/wan-3.0.json";
import zImageTurbo from "./models/z-image-turbo.json";

/** Contents by file name, not validated; `builtInCatalogue` reads them like any other file. */
export const BUILT_IN_MODELS: Readonly<Record<string, unknown>> = {
  "ace-step.json": aceStep,
  "chatterbox.json": chatterbox,
  "eleven-flash-v2.5.json": elevenFlashV25,
  "eleven-multilingual-v2.json": elevenMultilingualV2,
  "eleven-music-1.json": elevenMusic1,
  "eleven-music-2.5.json": elevenMusic25,
  "eleven-sound-effects-2.json": elevenSoundEffects2,
  "eleven-v3.json": elevenV3,
  "eleven-v4-turbo.json": elevenV4Turbo,
  "eleven-v4.json": elevenV4,
  "flux-1.1-pro-ultra.json": flux11ProUltra,
  "flux-2-dev.json": flux2Dev,
  "flux-2-flex.json": flux2Flex,
  "flux-2-max.json": flux2Max,
  "flux-2-pro-edit.json": flux2ProEdit,
  "flux-2-pro.json": flux2Pro,
  "flux-3-video.json": flux3Video,
  "flux-kontext-pro.json": fluxKontextPro,
  "gemini-3-pro-image.json": gemini3ProImage,
  "gemini-3.1-flash-image.json": gemini31FlashImage,
  "gemini-omni-flash.json": geminiOmniFlash,
  "gen-4-image.json": gen4Image,
  "gpt-image-2.5-flare.json": gptImage25Flare,
  "gpt-image-2.5-sunburst.json": gptImage25Sunburst,
  "gpt-image-2.json": gptImage2,
  "grok-imagine-image-2.0.json": grokImagineImage20,
  "grok-imagine-image.json": grokImagineImage,
  "hailuo-2.3-pro.json": hailuo23Pro,
  "hailuo-2.3.json": hailuo23,
  "happyhorse-1.1.json": happyhorse11,
  "hunyuan-image-3.json": hunyuanImage3,
  "ideogram-v3.json": ideogramV3,
  "kling-2.5-turbo-pro.json": kling25TurboPro,
  "kling-2.6-pro.json": kling26Pro,
  "kling-3-pro.json": kling3Pro,
  "kling-3-standard.json": kling3Standard,
  "kling-lipsync.json": klingLipsync,
  "kokoro-82m.json": kokoro82m,
  "ltx-2.3-fast.json": ltx23Fast,
  "ltx-2.3-pro.json": ltx23Pro,
  "luma-ray-2.json": lumaRay2,
  "luma-ray-flash-2.json": lumaRayFlash2,
  "lyria-2.json": lyria2,
  "lyria-3-pro.json": lyria3Pro,
  "lyria-3.5.json": lyria35,
  "lyria-3.json": lyria3,
  "minimax-h3.json": minimaxH3,
  "minimax-music-2.6.json": minimaxMusic26,
  "minimax-speech-2.8-hd.json": minimaxSpeech28Hd,
  "minimax-speech-2.8-turbo.json": minimaxSpeech28Turbo,
  "pixverse-v6.json": pixverseV6,
  "qwen-image-2.json": qwenImage2,
  "qwen-image.json": qwenImage,
  "recraft-crisp-upscale.json": recraftCrispUpscale,
  "recraft-v3.json": recraftV3,
  "recraft-v4-pro.json": recraftV4Pro,
  "runway-gen-4-turbo.json": runwayGen4Turbo,
  "runway-gen-4.5.json": runwayGen45,
  "seedance-1.0-pro.json": seedance10Pro,
  "seedance-1.5-pro.json": seedance15Pro,
  "seedream-4.5.json": seedream45,
  "seedream-5-lite.json": seedream5Lite,
  "seedream-5-pro.json": seedream5Pro,
  "sim-edit-1.json": simEdit1,
  "sim-image-1.json": simImage1,
  "sim-lipsync-1.json": simLipsync1,
  "sim-speech-1.json": simSpeech1,
  "sim-upscale-1.json": simUpscale1,
  "stable-audio-2.5.json": stableAudio25,
  "stable-audio-3-medium.json": stableAudio3Medium,
  "stable-diffusion-3.5-large.json": stableDiffusion35Large,
  "stable-image-core.json": stableImageCore,
  "stable-image-ultra.json": stableImageUltra,
  "sync-lipsync-2.json": syncLipsync2,
  "veed-fabric-1.0.json": veedFabric10,
  "vidmodel-2.0-fast.json": vidmodel20Fast,
  "vidmodel-2.0-mini.json": vidmodel20Mini,
  "vidmodel-2.0.json": vidmodel20,
  "vidmodel-2.5.json": vidmodel25,
  "vidu-q3.json": viduQ3,
  "wan-2.7.json": wan27,
  "wan-3.0.json": wan30,
  "z-image-turbo.json": zImageTurbo,
};
