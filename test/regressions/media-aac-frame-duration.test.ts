// Duration of an AAC frame by the object type and the flags of its configuration.
import { expect, test } from "bun:test";
import { aacFrame } from "../../src/media/formats/mp4-sample-descriptions.ts";

const configOf = (bits: string) => {
  const padding = bits.padEnd(Math.ceil(bits.length / 8) * 8, "0");
  return Uint8Array.from(padding.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2));
};
/** An AAC configuration with 44,100 samples a second and one channel. */
const kindOf = (object: number) =>
  `${object < 32 ? object.toString(2).padStart(5, "0") : `11111${(object - 32).toString(2).padStart(6, "0")}`}01000001`;
test.each([
  [2, "0", 1024],
  [2, "1", 960],
  [23, "0", 512],
  [23, "1", 480],
  [39, "0", 512],
  [39, "1", 480],
  [42, "00100000", 768],
  [42, "00100001", 1024],
  [42, "00100010", 2048],
  [42, "00100011", 2048],
  [42, "00100100", 4096],
])("AAC object type %d with configuration bits %s has frames of %d samples", (object, bits, samples) => {
  expect(Math.round((aacFrame(configOf(`${kindOf(object)}${bits}0000`)) ?? 0) * 44_100)).toBe(samples);
});
test("reads the additional sample rates of extended HE-AAC and rejects object types that are not AAC", () => {
  expect(aacFrame(configOf(`${kindOf(42)}100000010000`))).toBe(1024 / 40_000);
  for (const object of [32, 33, 34, 36]) expect(() => aacFrame(configOf(`${kindOf(object)}0000`))).toThrow("cannot be measured");
});
