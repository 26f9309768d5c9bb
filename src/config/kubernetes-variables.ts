// Recognizes the variables that Kubernetes and Docker set for every Service near a pod.
//
// The variables of a Service named genrouter have the prefix of settings.

/** Suffix of such a variable after the Service name, and its value. The value of a setting has a different form. */
const ADDRESS = "(?:\\d{1,3}(?:\\.\\d{1,3}){3}|\\[?[0-9A-Fa-f]*:[0-9A-Fa-f:.]*\\]?)";
const PORT = "\\d{1,5}";
const URL = `(?:tcp|udp|sctp)://(?:${ADDRESS}|[\\w.-]+):${PORT}`;
const SHAPES: readonly [name: string, value: string][] = [
  ["SERVICE_HOST", ADDRESS],
  ["SERVICE_PORT(?:_[A-Z0-9_]+)?", PORT],
  ["PORT", URL],
  ["PORT_\\d{1,5}_(?:TCP|UDP|SCTP)", URL],
  ["PORT_\\d{1,5}_(?:TCP|UDP|SCTP)_PROTO", "(?:tcp|udp|sctp)"],
  ["PORT_\\d{1,5}_(?:TCP|UDP|SCTP)_PORT", PORT],
  ["PORT_\\d{1,5}_(?:TCP|UDP|SCTP)_ADDR", ADDRESS],
];
const PATTERNS = SHAPES.map(([name, value]) => ({
  name: new RegExp(`^GENROUTER(?:_[A-Z0-9_]*[A-Z0-9])?_${name}$`),
  value: new RegExp(`^${value}$`),
}));

/**
 * True if a variable belongs to a Service, such as `GENROUTER_PORT=tcp://10.0.0.7:8080`. A port in a setting is a number and does
 * not match.
 */
export const isOfService = (variable: string, value: string): boolean =>
  PATTERNS.some((shape) => shape.name.test(variable) && shape.value.test(value));

const SHOWN = 3;

/** Log line that lists the ignored variables; undefined if there are none. */
export const ignoredLine = (variables: readonly string[]): string | undefined => {
  if (variables.length === 0) return undefined;
  const others = variables.length - SHOWN;
  const named = variables.slice(0, SHOWN).join(", ") + (others > 0 ? ` and ${others} more` : "");
  return `ignored ${named}: Kubernetes sets such variables for each Service whose name begins with genrouter; enableServiceLinks: false in the pod's spec keeps them out`;
};
