// A request pipelined behind a POST closes the connection without a response.
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { INPUT, MODEL } from "../generation/catalogue.ts";
import { openScene } from "../generation/fixture.ts";

/** Sends the text at once and reads until the connection is closed or the given number of responses has arrived. */
const exchange = (url: string, text: string, answers: number): Promise<string> =>
  new Promise((fulfil, fail) => {
    const { hostname, port } = new URL(url);
    let heard = "";
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.on("data", (bytes) => {
      heard += bytes.toString("latin1");
      if (heard.split("HTTP/1.1 ").length > answers) socket.end();
    });
    socket.on("close", () => fulfil(heard));
    socket.on("error", fail);
  });
const statuses = (heard: string) => [...heard.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));

test("closes the connection on a request pipelined behind a POST, as documented, and charges the resent POST once", async () => {
  const scene = await openScene();
  const { host } = new URL(scene.url);
  const body = JSON.stringify({ model: MODEL, input: INPUT });
  const common = `Host: ${host}\r\nAuthorization: Bearer ${scene.tenant.key}\r\n`;
  const post = `POST /v1/generations HTTP/1.1\r\n${common}Idempotency-Key: pipelined\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const get = `GET /v1/models HTTP/1.1\r\n${common}\r\n`;

  expect(statuses(await exchange(scene.url, post + get, 2))).toEqual([]);
  const document = (await scene.request("GET", "/openapi.json")).body as { info: { description: string } };
  expect(document.info.description.replace(/\s+/g, " ")).toContain("If a request follows a POST before the response to the POST");

  // The service may have accepted the POST before the connection closed; with its idempotency key it is one generation.
  const [status] = statuses(await exchange(scene.url, post, 1));
  expect([200, 202]).toContain(status ?? 0);
  const replayed = await exchange(scene.url, post, 1);
  expect(statuses(replayed)).toEqual([200]);
  await scene.until(/gen_\w+/.exec(replayed)?.[0] ?? "");
  expect(await scene.balance()).toMatchObject({ held: 0, charged: 20, inProgress: 0 });
  // Requests pipelined behind a GET are answered.
  expect(statuses(await exchange(scene.url, get + get, 2))).toEqual([200, 200]);
});
