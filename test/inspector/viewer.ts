// Connects to a harness as the live inspector page does, over a WebSocket, and keeps everything it receives.
import type { ActorRow, LiveBatch, SeenEvent } from "../../src/inspector/dto.ts";
import type { Harness } from "../harness.ts";

export type Viewer = {
  batches: LiveBatch[];
  texts: string[];
  rows: Map<string, ActorRow>;
  events: SeenEvent[];
  say(ask: unknown): void;
  close(): Promise<void>;
};

export const socketUrl = (harness: Pick<Harness, "url">, path: string): string => `${harness.url.replace(/^http/, "ws")}${path}`;

/** Connects and resolves after the hello of the service. Rejects if the service denies access. */
export const connectViewer = async (
  harness: Pick<Harness, "url">,
  more = "",
  headers: Record<string, string> = {},
): Promise<Viewer> => {
  const socket = new WebSocket(socketUrl(harness, `/inspector/api/live${more}`), { headers } as never);
  const seen: Omit<Viewer, "say" | "close"> = { batches: [], texts: [], rows: new Map(), events: [] };
  await new Promise<void>((resolve, reject) => {
    socket.onclose = ({ code }) => reject(new Error(`closed with ${code}`));
    socket.onerror = () => reject(new Error("rejected"));
    socket.onmessage = ({ data: reported }) => {
      const batch = JSON.parse(String(reported)) as LiveBatch;
      seen.texts.push(String(reported));
      seen.batches.push(batch);
      if (batch.reset) seen.rows.clear();
      for (const row of batch.rows ?? []) seen.rows.set(row.id, row);
      seen.events.push(...(batch.events ?? []));
      if (batch.hello) resolve();
    };
  });
  return {
    ...seen,
    say: (ask) => socket.send(JSON.stringify(ask)),
    close: () =>
      new Promise((resolve) => {
        socket.onclose = () => resolve();
        socket.close();
      }),
  };
};

/** A token as the command or the page gets it. @throws if the inspector is disabled */
export const tokenOf = ({ components }: Pick<Harness, "components">, role: "operator" | "viewer") => {
  if (components.issueToken === null) throw new Error("the inspector is disabled");
  return components.issueToken(role, { kind: "command", id: "test", name: "test" });
};
