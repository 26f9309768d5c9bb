// Parses the names in PromQL: the metrics of an expression, their labels, and the labels it groups by.

export type Asked = {
  /** Each metric with the labels that its selector matches on. */
  metrics: { name: string; labels: string[] }[];
  /** Labels in by, without, on, ignoring, group_left and group_right. */
  grouped: string[];
};

type Token = { kind: "word" | "text" | "range" | "mark"; text: string };

const TOKEN =
  /(?<space>\s+)|(?<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<range>\[[^\]]*\])|(?<number>\d[\d.eE]*[smhdwy]*|\.\d+)|(?<word>[a-zA-Z_:$][\w:]*)|(?<mark>=~|!~|!=|==|>=|<=|[(){},=<>+\-*/%^@])/y;

/** @throws for anything that is not PromQL. */
const tokensOf = (expr: string): Token[] => {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < expr.length) {
    const at = TOKEN.lastIndex;
    const groups = TOKEN.exec(expr)?.groups;
    if (!groups) throw new Error(`not PromQL from ${JSON.stringify(expr.slice(at, at + 20))} on: ${expr}`);
    for (const kind of ["text", "range", "word", "mark"] as const) {
      const text = groups[kind];
      if (text !== undefined) tokens.push({ kind, text });
    }
  }
  return tokens;
};

const GROUPING = new Set(["by", "without", "on", "ignoring", "group_left", "group_right"]);
const WORDS = new Set(["and", "or", "unless", "bool", "offset", "inf", "nan", "start", "end", ...GROUPING]);

/** The metrics and labels of an expression. @throws for anything that is not PromQL */
export const asked = (expr: string): Asked => {
  const tokens = tokensOf(expr);
  const metrics: Asked["metrics"] = [];
  const grouped: string[] = [];
  /** Reads the first word of each part before `close`. @returns the index of `close`. */
  const readList = (from: number, close: string, take: (label: string) => void): number => {
    let at = from;
    for (let isFirst = true; tokens[at]?.text !== close; at += 1) {
      const token = tokens[at];
      if (!token) throw new Error(`no ${close} in ${expr}`);
      if (isFirst && token.kind === "word") take(token.text);
      isFirst = token.text === ",";
    }
    return at;
  };
  for (let at = 0; at < tokens.length; at += 1) {
    const { kind, text } = tokens[at] as Token;
    const next = tokens[at + 1]?.text;
    if (kind !== "word") continue;
    if (GROUPING.has(text) && next === "(") at = readList(at + 2, ")", (label) => grouped.push(label));
    else if (!WORDS.has(text) && !["(", "by", "without"].includes(next ?? "")) {
      const labels: string[] = [];
      if (next === "{") at = readList(at + 2, "}", (label) => labels.push(label));
      metrics.push({ name: text, labels });
    }
  }
  return { metrics, grouped };
};
