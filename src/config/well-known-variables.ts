// Environment variables in which provider credentials are commonly kept.

/** Variables in which provider credentials are commonly kept, by provider. */
export const WELL_KNOWN_KEYS: Readonly<Record<string, string>> = {
  bfl: "BFL_API_KEY",
  dashscope: "DASHSCOPE_API_KEY",
  elevenlabs: "ELEVENLABS_API_KEY",
  fal: "FAL_KEY",
  gemini: "GEMINI_API_KEY",
  higgsfield: "HIGGSFIELD_API_KEY",
  kling: "KLING_API_KEY",
  luma: "LUMAAI_API_KEY",
  minimax: "MINIMAX_API_KEY",
  modelark: "ARK_API_KEY",
  openai: "OPENAI_API_KEY",
  pixverse: "PIXVERSE_API_KEY",
  replicate: "REPLICATE_API_TOKEN",
  runware: "RUNWARE_API_KEY",
  runway: "RUNWAYML_API_SECRET",
  stability: "STABILITY_API_KEY",
  together: "TOGETHER_API_KEY",
  vidu: "VIDU_API_KEY",
  volcengine: "VOLCENGINE_ARK_API_KEY",
  wavespeed: "WAVESPEED_API_KEY",
};
