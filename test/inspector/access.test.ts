// Who may look on: nobody where the inspector is off, no page of another address, no stranger without a token.
import { expect, test } from "bun:test";
import { setUp } from "../console/visitor.ts";
import { type House, openHouse } from "../harness.ts";
import { lookOn, tokenOf } from "./viewer.ts";

const PATHS = ["/inspector/ws", "/inspector/api/live"];

/** The answer to a request for a socket that is turned away. */
const knock = async (house: House, path: string, headers: Record<string, string> = {}) => {
  const { status, body } = await house.ask("GET", path, {
    key: null,
    headers: {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      ...headers,
    },
  });
  return { status, code: (body.error as { code?: string } | undefined)?.code };
};

test.each(PATHS)("%s is not there where the inspector is switched off, whoever asks", async (path) => {
  const house = await openHouse({ env: { GENROUTER_INSPECTOR__ENABLED: "off" } });
  expect(house.rooms.issueToken).toBe(null);
  expect(await knock(house, path)).toEqual({ status: 404, code: "not_found" });
  expect(await knock(house, `${path}?token=gri_made-up`)).toEqual({ status: 404, code: "not_found" });
  await house.close();
});

test.each(PATHS)(
  "%s turns away pages of other addresses, forwarded requests and names that are not this machine's",
  async (path) => {
    const house = await openHouse();
    const own = new URL(house.url).host;
    const refused = { status: 403, code: "unauthorized" };
    for (const origin of ["https://evil.example", "null", `http://${own}.evil.example`, "http://127.0.0.1:1"])
      expect(await knock(house, path, { origin })).toEqual(refused);
    // A name that somebody made point at this machine: the page and the address agree, and still it is nobody's.
    expect(await knock(house, path, { origin: "http://evil.example", host: "evil.example" })).toMatchObject({ status: 401 });
    expect(await knock(house, path, { host: "evil.example" })).toMatchObject({ status: 401 });
    expect(await knock(house, path, { "x-forwarded-for": "203.0.113.9" })).toMatchObject({ status: 401 });
    await house.close();
  },
);

test("with a public address this machine is nobody special", async () => {
  const house = await openHouse({ env: { GENROUTER_SERVER__PUBLIC_URL: "https://api.example" } });
  for (const path of PATHS) expect(await knock(house, path)).toEqual({ status: 401, code: "unauthorized" });
  await house.close();
});

test("a token opens the door to pages of any address, until its time is over", async () => {
  const house = await openHouse({ factor: 0, env: { GENROUTER_SERVER__PUBLIC_URL: "https://api.example" } });
  const { token, expiresAtMs } = tokenOf(house, "viewer");
  const eye = await lookOn(house, `?token=${token}`, { origin: "http://localhost:5173" });
  expect(eye.batches[0]?.hello).toEqual({ prompts: false, role: "viewer" });
  expect(await knock(house, "/inspector/ws?token=gri_made-up")).toEqual({ status: 401, code: "unauthorized" });
  house.clock.skip(expiresAtMs - house.clock.nowMs());
  expect(await knock(house, `/inspector/ws?token=${token}`)).toEqual({ status: 401, code: "unauthorized" });
  await eye.close();
  await house.close();
});

test("a token that somebody asked for who is signed in is worth nothing once they have signed out", async () => {
  const house = await openHouse({ factor: 0, env: { GENROUTER_SERVER__PUBLIC_URL: "" } });
  const ada = await setUp(house);
  const { token } = await ada.ok("POST", "/inspector/api/token");
  const eye = await lookOn(house, `?token=${token}`, { origin: "http://localhost:5173" });
  expect(eye.batches[0]?.hello?.role).toBe("operator");
  await eye.close();
  await ada.ok("DELETE", "/console/api/session");
  expect(await knock(house, `/inspector/ws?token=${token}`)).toEqual({ status: 401, code: "unauthorized" });
  await house.close();
});

test("a request that asks for no socket is told how, and other methods what there is", async () => {
  const house = await openHouse();
  for (const path of PATHS) {
    expect((await house.ask("GET", path, { key: null })).status).toBe(426);
    const posted = await house.ask("POST", path, { key: null, body: {} });
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  }
  await house.close();
});

test("whoever may not come in is told why also where they ask for no socket: a page learns it so", async () => {
  const ask = async (env: Record<string, string>) => {
    const house = await openHouse({ env });
    const statuses = await Promise.all(PATHS.map(async (path) => (await house.ask("GET", path, { key: null })).status));
    await house.close();
    return statuses;
  };
  expect(await ask({ GENROUTER_INSPECTOR__ENABLED: "off" })).toEqual([404, 404]);
  expect(await ask({ GENROUTER_SERVER__PUBLIC_URL: "https://api.example" })).toEqual([401, 401]);
});

test("programs of this machine, and our own page in a browser on it, are let in with the simulator", async () => {
  const house = await openHouse();
  const { port } = new URL(house.url);
  for (const headers of [{}, { origin: house.url }, { origin: `http://localhost:${port}`, host: `localhost:${port}` }]) {
    const eye = await lookOn(house, "", headers as Record<string, string>);
    await eye.close();
  }
  await house.close();
});
