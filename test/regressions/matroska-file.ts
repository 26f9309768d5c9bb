// Builder of a Matroska file with one track, element by element.

export const be = (value: number, bytes: number) => {
  const all = Buffer.alloc(8);
  all.writeBigUInt64BE(BigInt(value));
  return all.subarray(8 - bytes);
};
export const float = (value: number) => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes;
};
const idOf = (id: number) => be(id, id > 0xffffff ? 4 : id > 0xffff ? 3 : id > 0xff ? 2 : 1);
export const element = (id: number, ...parts: Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([idOf(id), Buffer.of(1), be(content.length, 7), content]);
};
export const text = (value: string) => Buffer.from(value, "latin1");
export const block = (timeMs: number, data: Uint8Array, flags = 0x80) =>
  element(0xa3, Buffer.of(0x81), be(timeMs, 2), Buffer.of(flags), data);

export type Track = {
  codec: string;
  own?: Uint8Array;
  rate?: number;
  playedRate?: number;
  channels?: number;
  bits?: number;
  more?: Uint8Array[];
};
export const matroska = (
  { codec, own: nodeUrl, rate = 8000, playedRate, channels = 1, bits, more = [] }: Track,
  ...blocks: Uint8Array[]
): Buffer => {
  const isSound = codec.startsWith("A_");
  const audio = element(
    0xe1,
    ...[element(0xb5, float(rate)), element(0x9f, be(channels, 1))],
    ...(playedRate === undefined ? [] : [element(0x78b5, float(playedRate))]),
    ...(bits === undefined ? [] : [element(0x6264, be(bits, 1))]),
  );
  const video = element(0xe0, element(0xb0, be(64, 2)), element(0xba, be(48, 2)));
  const entry = element(
    0xae,
    ...[element(0xd7, be(1, 1)), element(0x73c5, be(1, 1)), element(0x83, be(isSound ? 2 : 1, 1)), element(0x86, text(codec))],
    ...(nodeUrl ? [element(0x63a2, nodeUrl)] : []),
    isSound ? audio : video,
    ...more,
  );
  const info = element(0x1549a966, element(0x2ad7b1, be(1_000_000, 4)));
  return Buffer.concat([
    element(0x1a45dfa3, element(0x4282, text("matroska"))),
    element(0x18538067, info, element(0x1654ae6b, entry), element(0x1f43b675, element(0xe7, be(0, 1)), ...blocks)),
  ]);
};
