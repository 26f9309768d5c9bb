// Types of prom-client's process metric modules, which its own types omit.
//
// Each module adds a few metrics to a registry.
declare module "prom-client/lib/metrics/*.js" {
  import type { Registry } from "prom-client";

  const add: (registry: Registry) => void;
  // biome-ignore lint/style/noDefaultExport: it is what the package has.
  export default add;
}
