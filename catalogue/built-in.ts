// The model files that the service ships with, embedded into the binary by name.
import simEdit1 from "./models/sim-edit-1.json";
import simImage1 from "./models/sim-image-1.json";
import simLipsync1 from "./models/sim-lipsync-1.json";
import simSpeech1 from "./models/sim-speech-1.json";
import simUpscale1 from "./models/sim-upscale-1.json";
import vidmodel20 from "./models/vidmodel-2.0.json";
import vidmodel20Fast from "./models/vidmodel-2.0-fast.json";
import vidmodel20Mini from "./models/vidmodel-2.0-mini.json";
import vidmodel25 from "./models/vidmodel-2.5.json";

/** Contents by file name, unchecked; `builtInCatalogue` reads them like any other file. */
export const BUILT_IN_MODELS: Readonly<Record<string, unknown>> = {
  "sim-edit-1.json": simEdit1,
  "sim-image-1.json": simImage1,
  "sim-lipsync-1.json": simLipsync1,
  "sim-speech-1.json": simSpeech1,
  "sim-upscale-1.json": simUpscale1,
  "vidmodel-2.0.json": vidmodel20,
  "vidmodel-2.0-fast.json": vidmodel20Fast,
  "vidmodel-2.0-mini.json": vidmodel20Mini,
  "vidmodel-2.5.json": vidmodel25,
};
