// The paths that fal has below some of its apps.
//
// fal's queue accepts any path of a known app, and only the result reports an unknown path.

/** App → its paths, as in fal's types and model pages. For other apps every path counts as known. */
const PATHS: Readonly<Record<string, RegExp>> = {
  "alibaba/happy-horse": /^v1\.1\/(text|image)-to-video$/,
  "alibaba/wan-3.0": /^(text|image)-to-video$/,
  "bytedance/seedance-2.0": /^(us\/)?((fast|mini)\/)?(text|image|reference)-to-video$/,
  "bytedance/seedance-2.5": /^((us|flash)\/)?(text|image|reference)-to-video$/,
  "bytedance/seedream": /^v5\/(pro|lite)\/(text-to-image|edit)$/,
  "elevenlabs/tts": /^eleven-v4(-turbo)?$/,
  "fal-ai/bytedance": /^(seedance\/v1(\.5)?\/pro\/(text|image)-to-video|seedream\/(v4\.5|v5\/lite)\/(text-to-image|edit))$/,
  "fal-ai/elevenlabs": /^(music|sound-effects\/v2|tts\/(eleven-v3|multilingual-v2))$/,
  "fal-ai/flux-2-pro": /^(edit)?$/,
  "fal-ai/kling-video": /^(lipsync\/audio-to-video|v(2\.5-turbo|2\.6|3)\/(pro|standard)\/(text|image)-to-video)$/,
  "fal-ai/luma-dream-machine": /^ray-2(-flash)?(\/image-to-video)?$/,
  "fal-ai/minimax": /^(hailuo-2\.3\/(pro|standard)\/(text|image)-to-video|speech-2\.8-(hd|turbo))$/,
  "fal-ai/nano-banana-2": /^(edit)?$/,
  "fal-ai/nano-banana-pro": /^(edit)?$/,
  "fal-ai/pixverse": /^v6\/(text|image)-to-video$/,
  "fal-ai/vidu": /^q3\/(text|image)-to-video$/,
  "fal-ai/wan": /^v2\.7\/(text|image)-to-video$/,
  "openai/gpt-image-2": /^(edit)?$/,
  "openai/gpt-image-2.5": /^(flare|sunburst)\/(text-to-image|edit)$/,
};

/** Whether an endpoint is an unknown path below an app with known paths. */
export const isNoPath = (endpoint: string): boolean => {
  const [owner, app, ...below] = endpoint.split("/");
  const paths = PATHS[`${owner}/${app}`];
  return paths !== undefined && !paths.test(below.join("/"));
};
