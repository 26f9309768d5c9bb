// Badge with the status of a generation.
import type { VNode } from "preact";
import type { GenerationDto } from "../../../src/console/generations-dto.ts";
import { words } from "../../words/console-words.ts";

export const StatusBadge = ({ status }: Pick<GenerationDto, "status">): VNode => (
  <span class={`status is-${status}`}>{words.status[status]}</span>
);
