// The newest generations of the account as small pictures, each a link to its page.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { GenerationsPage } from "../../../src/console/generations-dto.ts";
import { useQuery } from "../../components/use-query.ts";
import { words } from "../../words/words.ts";
import { isListening, useEvents } from "../generations/event-stream.ts";
import { FilePreview } from "../generations/files.tsx";
import { KindTile } from "./model-chooser.tsx";

const SHOWN = 12;

export const HistoryStrip = (): VNode | null => {
  const { value, again } = useQuery<GenerationsPage>(isListening.value ? "/console/api/generations" : null);
  const [ended, setEnded] = useState<ReadonlySet<string>>(new Set());
  useEvents(null, {
    generation: ({ id, completedAtMs }) => {
      // A generation is shown from its end on, when it has a picture.
      if (completedAtMs === null || ended.has(id)) return;
      setEnded(new Set([...ended, id]));
      again();
    },
    again,
  });
  const shown = (value?.generations ?? []).filter(({ files }) => files.length > 0).slice(0, SHOWN);
  if (shown.length === 0) return null;
  return (
    <section class="history" aria-label={words.playground.history}>
      <ul>
        {shown.map((of) => {
          const [file] = of.files;
          return (
            <li key={of.id}>
              <a href={`/console/generations/${of.id}`} title={of.prompt ?? of.model} aria-label={of.prompt ?? of.model}>
                {file?.thumbUrl ? <FilePreview of={of} file={file} small /> : of.kind !== null && <KindTile kind={of.kind} />}
              </a>
            </li>
          );
        })}
      </ul>
    </section>
  );
};
