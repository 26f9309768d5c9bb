// The newest generations of the account as small pictures, each a link to its page.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { GenerationDto, GenerationsPage } from "../../../src/console/generations-dto.ts";
import { useQuery } from "../../components/use-query.ts";
import { words } from "../../words/console-words.ts";
import { isListening, useEvents } from "../generations/event-stream.ts";
import { FilePreview, titleOf } from "../generations/files.tsx";
import { KindTile } from "./model-chooser.tsx";

const SHOWN = 12;

/** Generations as small pictures, each a link to its page. */
export const GenerationStrip = ({ of, label }: { of: readonly GenerationDto[]; label: string }): VNode => (
  <section class="history" aria-label={label}>
    <ul>
      {of.slice(0, SHOWN).map((one) => {
        const [file] = one.files;
        return (
          <li key={one.id}>
            <a href={`/console/generations/${one.id}`} title={titleOf(one)} aria-label={titleOf(one)}>
              {file?.thumbUrl ? <FilePreview of={one} file={file} small /> : one.kind !== null && <KindTile kind={one.kind} />}
            </a>
          </li>
        );
      })}
    </ul>
  </section>
);

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
  const shown = (value?.generations ?? []).filter(({ files }) => files.length > 0);
  return shown.length === 0 ? null : <GenerationStrip of={shown} label={words.playground.history} />;
};
