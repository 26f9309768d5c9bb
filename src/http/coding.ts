// Which codings of an answer its caller unpacks by itself.

/** As every browser does; a weight of zero says no. */
export const takes = (request: Request, coding: "br" | "gzip"): boolean =>
  (request.headers.get("accept-encoding") ?? "").split(",").some((part) => {
    const [named = "", ...weights] = part.split(";").map((word) => word.trim().toLowerCase());
    return (named === coding || named === "*") && !weights.some((weight) => /^q=0(\.0*)?$/.test(weight));
  });
