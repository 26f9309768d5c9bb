// Decodes the text of header values.

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Header values arrive as bytes. If they are valid UTF-8, they are decoded, so that the length counts characters. */
export const readHeader = (raw: string): string => {
  if (!/[\u0080-\u00ff]/.test(raw)) return raw;
  try {
    return utf8.decode(Uint8Array.from(raw, (unit) => unit.charCodeAt(0)));
  } catch {
    return raw;
  }
};
