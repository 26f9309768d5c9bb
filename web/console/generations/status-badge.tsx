// Badge with the status of a generation.
import type { VNode } from "preact";
import type { GenerationDto } from "../../../src/console/generations-dto.ts";

export const STATUS_LABELS: Readonly<Record<GenerationDto["status"], string>> = {
  queued: "Queued",
  running: "Running",
  succeeded: "Succeeded",
  failed: "Failed",
};

export const StatusBadge = ({ status }: Pick<GenerationDto, "status">): VNode => (
  <span class={`status is-${status}`}>{STATUS_LABELS[status]}</span>
);
