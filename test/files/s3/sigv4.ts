// Verifies AWS Signature Version 4, written from its description only, to check the signer of the client.
import { createHash, createHmac } from "node:crypto";

export type Credentials = { accessKey: string; secretKey: string; region: string };
/** A received request: the target is path and query, not decoded; header names are in lower case. */
export type Came = { method: string; target: string; headers: Readonly<Record<string, string | undefined>> };

const hex = (text: string) => createHash("sha256").update(text, "utf8").digest("hex");
const mac = (key: Buffer | string, text: string) => createHmac("sha256", key).update(text, "utf8").digest();

/** UriEncode of the description: every byte except the unreserved ones as %XY in capitals. */
export const uriEncode = (text: string, keepSlash = false): string =>
  [...Buffer.from(text, "utf8")]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      if (/[A-Za-z0-9._~-]/.test(char) || (keepSlash && char === "/")) return char;
      return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    })
    .join("");

const pairsOf = (target: string): [string, string][] => {
  const at = target.indexOf("?");
  if (at === -1 || at === target.length - 1) return [];
  return target
    .slice(at + 1)
    .split("&")
    .map((pair) => {
      const [name = "", ...value] = pair.split("=");
      return [decodeURIComponent(name), decodeURIComponent(value.join("="))];
    });
};
export const queryOf = (target: string): Map<string, string> => new Map(pairsOf(target));

export type Signed = { scope: string; time: string; names: readonly string[]; payload: string };

/** The signature that a request must carry. */
export const signatureOf = (came: Came, { scope, time, names, payload }: Signed, secretKey: string): string => {
  const [path = "/"] = came.target.split("?");
  const query = pairsOf(came.target)
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => [uriEncode(name), uriEncode(value)])
    .sort(([a = "", x = ""], [b = "", y = ""]) => (a === b ? (x < y ? -1 : 1) : a < b ? -1 : 1))
    .map((pair) => pair.join("="))
    .join("&");
  const headers = names.map((name) => `${name}:${(came.headers[name] ?? "").trim().replace(/\s+/g, " ")}\n`).join("");
  const canonical = `${came.method}\n${uriEncode(decodeURIComponent(path), true)}\n${query}\n${headers}\n${names.join(";")}\n${payload}`;
  const [day = "", region = "", service = "", last = ""] = scope.split("/");
  const key = mac(mac(mac(mac(`AWS4${secretKey}`, day), region), service), last);
  return mac(key, `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hex(canonical)}`).toString("hex");
};

const msOf = (time: string): number => {
  const [, y, mo, d, h, mi, s] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(time) ?? [];
  return Date.UTC(Number(y), Number(mo) - 1, Number(d), Number(h), Number(mi), Number(s));
};

const MOST_SKEW_MS = 15 * 60_000;
const LONGEST_LINK_S = 604_800;

/** The S3 error code for a request, or undefined. Verifies the query of a link and the header of any other request. */
export const errorOf = (came: Came, bodySha256: string, known: Credentials, nowMs: number): string | undefined => {
  const query = queryOf(came.target);
  const isLink = query.has("X-Amz-Signature");
  const header = came.headers.authorization;
  if (isLink && header !== undefined) return "InvalidArgument";
  if (!isLink && header === undefined) return "AccessDenied";
  const [, credential = "", list = "", given = ""] = isLink
    ? ["", query.get("X-Amz-Credential"), query.get("X-Amz-SignedHeaders"), query.get("X-Amz-Signature")]
    : (/^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(header ?? "") ?? []);
  const time = (isLink ? query.get("X-Amz-Date") : came.headers["x-amz-date"]) ?? "";
  const [accessKey, day, region, service, last] = (credential ?? "").split("/");
  if (isLink && query.get("X-Amz-Algorithm") !== "AWS4-HMAC-SHA256") return "AuthorizationQueryParametersError";
  if (accessKey !== known.accessKey) return "InvalidAccessKeyId";
  if (region !== known.region || service !== "s3" || last !== "aws4_request" || day !== time.slice(0, 8))
    return "AuthorizationHeaderMalformed";
  const names = (list ?? "").split(";");
  if (!names.includes("host")) return "AccessDenied";
  // All of these headers must be signed. Otherwise an attacker could add them.
  const must = Object.keys(came.headers).filter((name) => name.startsWith("x-amz-") || (!isLink && name === "content-type"));
  if (must.some((name) => !names.includes(name))) return "AccessDenied";
  const payload = isLink ? "UNSIGNED-PAYLOAD" : (came.headers["x-amz-content-sha256"] ?? "");
  const made = signatureOf(came, { scope: `${day}/${region}/${service}/${last}`, time, names, payload }, known.secretKey);
  if (made !== given) return "SignatureDoesNotMatch";
  if (isLink) {
    const validS = Number(query.get("X-Amz-Expires"));
    if (!(validS >= 1 && validS <= LONGEST_LINK_S)) return "AuthorizationQueryParametersError";
    return nowMs >= msOf(time) && nowMs < msOf(time) + validS * 1000 ? undefined : "AccessDenied";
  }
  if (!(Math.abs(nowMs - msOf(time)) <= MOST_SKEW_MS)) return "RequestTimeTooSkewed";
  return payload === bodySha256 ? undefined : "XAmzContentSHA256Mismatch";
};
