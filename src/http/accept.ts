// Content negotiation between JSON and CSV by the header `Accept`.

/** The weight of a media type that the header names; 0 if it does not. */
const weightOf = (accept: string, type: string): number => {
  for (const part of accept.split(",")) {
    const [name = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
    if (name !== type) continue;
    const q = parameters.find((parameter) => parameter.startsWith("q="));
    const weight = q === undefined ? 1 : Number(q.slice(2));
    return weight >= 0 && weight <= 1 ? weight : 0;
  }
  return 0;
};

/** True if a request names `text/csv`, and does not prefer JSON. */
export const prefersCsv = (request: Request): boolean => {
  const accept = request.headers.get("accept") ?? "";
  const weight = weightOf(accept, "text/csv");
  return weight > 0 && weight >= weightOf(accept, "application/json");
};
