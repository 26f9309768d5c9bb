// Addresses of the service: base URL of links and own URL.
import { expect, test } from "bun:test";
import { createServiceAddress } from "../../src/app/service-address.ts";

test("links begin with the configured URL without a trailing slash, else with the listening URL", () => {
  expect(createServiceAddress("https://media.example/").baseUrl()).toBe("https://media.example");
  const address = createServiceAddress("");
  address.listensAt("http://127.0.0.1:8080");
  expect([address.baseUrl(), address.ownUrl()]).toEqual(["http://127.0.0.1:8080", "http://127.0.0.1:8080"]);
});
