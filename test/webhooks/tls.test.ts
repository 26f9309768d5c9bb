// TLS of webhook tries: a connection that stays open is never used for another name at the same address.
import { expect, test } from "bun:test";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { guardedFetch } from "../../src/media/guarded-fetch.ts";
import { AUTHORITY, CERTIFICATE, KEY } from "../media/certificates.ts";

/** A server with a certificate for media.example, which counts its connections. */
const openServer = async () => {
  const hosts: string[] = [];
  let connections = 0;
  const server = createServer({ cert: CERTIFICATE, key: KEY, keepAlive: true }, (request, response) => {
    hosts.push(request.headers.host?.replace(/:\d+$/, "") ?? "");
    request.resume().on("end", () => response.end("ok"));
  });
  server.on("secureConnection", () => {
    connections += 1;
  });
  await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const post = async (name: string): Promise<string> => {
    const fetched = await guardedFetch(`https://${name}:${port}/`, {
      ...{ body: "{}", followsRedirects: false, keepsConnection: true, signal: AbortSignal.timeout(5000) },
      ...{ allows: () => true, resolve: async () => ["127.0.0.1"], ca: AUTHORITY },
    });
    return fetched.kind === "answered" ? await fetched.response.text() : fetched.why;
  };
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { post, hosts, connections: () => connections, close };
};

test("checks the certificate against the name of each request, also after a request to another name at the same address", async () => {
  const { post, hosts, close, connections } = await openServer();
  expect([await post("media.example"), await post("media.example")]).toEqual(["ok", "ok"]);
  expect(await post("other.example")).toBe("its server could not be reached");
  expect(await post("media.example")).toBe("ok");
  expect(hosts).toEqual(["media.example", "media.example", "media.example"]);
  expect(connections()).toBe(1);
  close();
});
