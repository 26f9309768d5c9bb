// The ids of the simulated dialects.
//
// They are in a separate file, so that fault rules can name dialects without importing their handlers.

export const DIALECT_IDS = [
  "fal",
  "replicate",
  "bfl",
  "dashscope",
  "elevenlabs",
  "gemini",
  "gemini-video",
  "higgsfield",
  "kling",
  "luma",
  "minimax",
  "minimax-speech",
  "modelark",
  "openai",
  "openai-video",
  "pixverse",
  "runware",
  "runway",
  "stability",
  "together",
  "together-video",
  "vidu",
  "volcengine",
  "wavespeed",
] as const;
export const isDialectId = (id: string): boolean => (DIALECT_IDS as readonly string[]).includes(id);
