// Mutants of pinned inputs: when a clip is fetched, how its copy is checked, and what the provider receives.
import type { Mutant } from "./mutant.ts";

const SUPERVISOR = "actors/supervisor/supervisor.ts";
const PIN = "src/media/pin-input.ts";
const PINNING = "src/effects/pin-inputs.ts";
const OTHER_CLIP = "the billed clip is not the clip that the provider receives";

export const PIN_MUTANTS: readonly Mutant[] = [
  {
    name: "attempt-before-pins",
    breaks: "An attempt begins before the clips of its input are pinned.",
    standsFor: OTHER_CLIP,
    patches: [
      { file: SUPERVISOR, find: "    else if (line.awaitsPins) this", put: "    else if (line.awaitsPins && line.seq < 0) this" },
    ],
    killer: "simulation",
  },
  {
    name: "pin-not-measured",
    breaks: "A pinned clip may have any length.",
    standsFor: OTHER_CLIP,
    patches: [
      {
        file: PIN,
        find: "Math.abs(ms - wanted.measuredMs) <= mostOffMs) return undefined;",
        put: "Math.abs(ms - wanted.measuredMs) >= 0) return undefined;",
      },
    ],
    killer: "simulation",
  },
  {
    name: "pin-to-the-millisecond",
    breaks: "A clip that differs by half a frame when it is pinned is rejected.",
    standsFor: "a difference of at most one frame is allowed",
    patches: [{ file: PIN, find: "Math.abs(ms - wanted.measuredMs) <= mostOffMs", put: "ms === wanted.measuredMs" }],
    killer: "simulation",
  },
  {
    name: "copy-not-given",
    breaks: "The provider receives the client's link although a copy exists.",
    standsFor: OTHER_CLIP,
    patches: [
      {
        file: PINNING,
        find: "if (pins.length + files.length === 0) return undefined;",
        put: "if (pins.length + files.length >= 0) return undefined;",
      },
    ],
    killer: "simulation",
  },
  {
    name: "copy-of-another",
    breaks: "A lost copy is not fetched again before an attempt is sent.",
    standsFor: "a provider receives the copy or nothing",
    patches: [
      {
        file: PINNING,
        find: "if (pin.copy && (await media.hasCopy(generationId, pin.copy))) continue;",
        put: "if (pin.copy && ((await media.hasCopy(generationId, pin.copy)) || task.n > 0)) continue;",
      },
    ],
    killer: "simulation",
    seed: 44,
  },
  {
    name: "wait-without-end-for-pins",
    breaks: "A generation waits for a pinned clip beyond max_wait_s.",
    standsFor: "pinning is inside max_wait_s",
    patches: [
      {
        file: SUPERVISOR,
        find: '    this.deadlines.set(queued.seq, { kind: "start"',
        put: '    if (!newLine(queued).awaitsPins) this.deadlines.set(queued.seq, { kind: "start"',
      },
    ],
    killer: "simulation",
    seed: 375,
  },
];
