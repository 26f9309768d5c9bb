// Loads the generation of a replay, or shows in one sentence why there is none.
import type { VNode } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import type { GenerationHistoryDto } from "../../src/inspector/generation-history-dto.ts";
import { errorText, Fault } from "../components/api.ts";
import { words } from "../words/inspector-words.ts";
import { ReplayView } from "./replay-page.tsx";

type Loaded = { reported: GenerationHistoryDto } | { fault: string; isSignedOut: boolean } | null;
type Props = { id: string; load: (id: string) => Promise<GenerationHistoryDto> };

export const ReplayPage = ({ id, load }: Props): VNode => {
  const [loaded, setLoaded] = useState<Loaded>(null);
  const look = useCallback(() => {
    let isLeft = false;
    load(id).then(
      (life) => isLeft || setLoaded({ reported: life }),
      (fault: unknown) =>
        isLeft || setLoaded({ fault: errorText(fault), isSignedOut: fault instanceof Fault && fault.code === "signed_out" }),
    );
    return () => {
      isLeft = true;
    };
  }, [id, load]);
  useEffect(() => {
    setLoaded(null);
    return look();
  }, [look]);
  if (loaded === null) return <p role="status">{words.inspector.replay.loading}</p>;
  if ("fault" in loaded)
    return (
      <>
        <p role="alert">{loaded.fault}</p>
        <p>
          {loaded.isSignedOut ? (
            <>
              <a href="/console/sign-in">{words.inspector.connection.signIn}</a>{" "}
            </>
          ) : null}
          <button type="button" class="button is-small" onClick={look}>
            {words.connection.reload}
          </button>
        </p>
      </>
    );
  const isOpen = loaded.reported.generation.completedAtMs === null;
  return (
    <>
      {isOpen ? (
        <p class="replay-open">
          The generation has not ended yet.{" "}
          <button type="button" class="button is-small" onClick={look}>
            {words.connection.reload}
          </button>
        </p>
      ) : null}
      <ReplayView reported={loaded.reported} />
    </>
  );
};
