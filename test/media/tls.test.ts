// TLS of pinned connections: the certificate is checked against the host of the URL, not the address.
import { expect, test } from "bun:test";
import { guardedFetch } from "../../src/media/guarded-fetch.ts";
import { readAllowed } from "../../src/media/host-allowlist.ts";
import { AUTHORITY, CERTIFICATE, KEY } from "./certificates.ts";

const visit = async (name: string, ca?: string) => {
  const hosts: string[] = [];
  using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    tls: { cert: CERTIFICATE, key: KEY },
    fetch: (request) => {
      hosts.push(request.headers.get("host") ?? "");
      return new Response("pinned");
    },
  });
  const fetched = await guardedFetch(`https://${name}:${server.port}/`, {
    signal: AbortSignal.timeout(5000),
    allows: readAllowed(name),
    resolve: async () => ["127.0.0.1"],
    ...(ca === undefined ? {} : { ca }),
  });
  const text = fetched.kind === "answered" ? await fetched.response.text() : fetched.why;
  return { text, hosts: hosts.map((host) => host.replace(/:\d+$/, "")) };
};

test("sends the name in the Host header and checks the certificate against it", async () => {
  expect(await visit("media.example", AUTHORITY)).toEqual({ text: "pinned", hosts: ["media.example"] });
});

test("sends no request to a server with a certificate of another name", async () => {
  expect(await visit("other.example", AUTHORITY)).toEqual({ text: "its server could not be reached", hosts: [] });
});

test("sends no request to a server with an untrusted certificate", async () => {
  expect(await visit("media.example")).toEqual({ text: "its server could not be reached", hosts: [] });
});
