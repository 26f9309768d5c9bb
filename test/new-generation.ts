// Row numbers and ids of generations that tests store without the service.
import { createGenerationNames } from "../src/domain/ids.ts";

export const newGeneration = createGenerationNames(null, 0);

export const newGenerationSeq = (nowMs: number): number => newGeneration(nowMs).seq;
