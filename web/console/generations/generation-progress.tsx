// Progress of a playground generation, updated by events, then its files.
import type { VNode } from "preact";
import type { GenerationDto } from "../../../src/console/generations-dto.ts";
import { usdText } from "../credits/amounts.ts";
import { CancelButton } from "./cancel-button.tsx";
import { Files, UseAsInput } from "./files.tsx";

export const STATUS_LABELS: Readonly<Record<GenerationDto["status"], string>> = {
  queued: "Queued",
  running: "Running",
  succeeded: "Succeeded",
  failed: "Failed",
};

export const StatusBadge = ({ status }: Pick<GenerationDto, "status">): VNode => (
  <span class={`status is-${status}`}>{STATUS_LABELS[status]}</span>
);

const saysOf = ({ status, message, attempts, costCredits, error }: GenerationDto): string => {
  if (status === "queued") return "Queued.";
  if (status === "running")
    return message ?? (attempts > 1 ? `Running on route ${attempts}; the earlier routes failed.` : "Running.");
  if (status === "failed") return `${error?.message ?? "The generation failed. Nothing was charged."}`;
  return `Charged ${usdText(costCredits ?? 0)}.`;
};

export const GenerationProgress = ({ of, onCancelled }: { of: GenerationDto; onCancelled: (id: string) => void }): VNode => (
  <article class="card made" data-id={of.id} data-status={of.status}>
    <p role="status">
      <StatusBadge status={of.status} /> {saysOf(of)} <a href={`/console/generations/${of.id}`}>Details</a>
    </p>
    {of.completedAtMs === null && (
      <p>
        <CancelButton id={of.id} onCancelled={() => onCancelled(of.id)} />
      </p>
    )}
    <Files of={of} />
    {of.files.length > 0 && (
      <p class="used-links">
        {of.files.map((file) => (
          <UseAsInput key={file.n} of={of} file={file} />
        ))}
      </p>
    )}
  </article>
);
