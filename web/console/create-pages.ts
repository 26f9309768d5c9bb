// Pages on which users generate and find their results, as one script.
export { FilesPage } from "./files/files-page.tsx";
export { GenerationPage } from "./generations/generation.tsx";
export { GenerationsPage } from "./generations/generations.tsx";
export { ModelPage } from "./models/model-page.tsx";
export { ModelsPage } from "./models/models-page.tsx";
export { PlaygroundPage } from "./playground/playground.tsx";
