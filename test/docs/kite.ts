// Kite, the provider of the walkthrough: a server that accepts only what its documentation describes.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Clip = { id: string; state: string; tag: string; file?: string };

const FIELDS = new Set(["engine", "text", "seconds", "size", "first_frame", "tag"]);
const SIZES = ["1280x720", "720x1280"];
/** Number of polls until a clip is ready. */
const LOOKS = 2;

export type Kite = {
  url: string;
  clips: readonly (Clip & { asked: Record<string, unknown> })[];
  stop(): void;
};

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
};

/**
 * Opens Kite. A text with `unsafe` is rejected, one with `blocked` ends as blocked, and one with `lost` gets no response.
 * @param file The content of every clip
 */
export const openKite = async (key: string, file: Uint8Array): Promise<Kite> => {
  const clips: (Clip & { asked: Record<string, unknown>; looks: number })[] = [];
  const shown = ({ id, state, tag, file }: Clip): Clip => ({ id, state, tag, ...(file ? { file } : {}) });
  const server = createServer((request, response) => void answer(request, response));
  const say = (response: ServerResponse, status: number, body: unknown) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  const problem = (response: ServerResponse, status: number, code: string) =>
    say(response, status, { problem: { code, text: `it is ${code.replace("_", " ")}` } });
  const urlOf = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const make = async (request: IncomingMessage, response: ServerResponse) => {
    const asked = JSON.parse(await bodyOf(request)) as Record<string, unknown>;
    const isRight =
      Object.keys(asked).every((name) => FIELDS.has(name)) &&
      asked.engine === "kite-1" &&
      typeof asked.text === "string" &&
      Number.isInteger(asked.seconds) &&
      SIZES.includes(String(asked.size)) &&
      typeof asked.tag === "string";
    if (!isRight) return problem(response, 422, "bad_field");
    const text = String(asked.text);
    if (text.includes("unsafe")) return problem(response, 451, "unsafe_text");
    const clip = { id: `c_${clips.length + 1}`, state: "waiting", tag: String(asked.tag), asked, looks: 0 };
    clips.unshift(clip);
    if (text.includes("lost")) return void request.socket.resetAndDestroy();
    say(response, 201, { clip: shown(clip) });
  };
  const look = (id: string, response: ServerResponse) => {
    const clip = clips.find((one) => one.id === id);
    if (!clip) return problem(response, 404, "no_clip");
    clip.looks += 1;
    if (clip.state === "waiting" && clip.looks >= LOOKS)
      if (String(clip.asked.text).includes("blocked")) clip.state = "blocked";
      else Object.assign(clip, { state: "ready", file: `${urlOf()}/files/${id}.mp4` });
    say(response, 200, { clip: shown(clip) });
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? "/", urlOf());
    if (pathname.startsWith("/files/")) return void response.writeHead(200, { "content-type": "video/mp4" }).end(file);
    if (request.headers["x-kite-key"] !== key) return problem(response, 401, "bad_key");
    const id = /^\/clips\/([^/]+)$/.exec(pathname)?.[1];
    if (request.method === "POST" && pathname === "/clips") return make(request, response);
    if (request.method === "GET" && id !== undefined) return look(id, response);
    if (request.method === "DELETE" && id !== undefined) {
      const clip = clips.find((one) => one.id === id && one.state === "waiting");
      if (clip) clip.state = "broken";
      return clip ? say(response, 200, { clip: shown(clip) }) : problem(response, 404, "no_clip");
    }
    if (request.method === "GET" && pathname === "/clips")
      return say(response, 200, { clips: clips.filter(({ tag }) => tag === searchParams.get("tag")).map(shown) });
    problem(response, 404, "no_such_page");
  };
  await new Promise<void>((open) => server.listen(0, "127.0.0.1", open));
  return {
    url: urlOf(),
    clips,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
};
