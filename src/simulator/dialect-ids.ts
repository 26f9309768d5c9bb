// The ids of the dialects that the simulator speaks; told apart here so that rules can name them without knowing who answers.

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
