// Types of the parts of prom-client that its own types leave out: each adds a few metrics of the process to a registry.
declare module "prom-client/lib/metrics/*.js" {
  import type { Registry } from "prom-client";

  const add: (registry: Registry) => void;
  // biome-ignore lint/style/noDefaultExport: it is what the package has.
  export default add;
}
