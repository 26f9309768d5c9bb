// `genrouter` from sources for the control of the power cuts: it syncs its log at checkpoints only, which must lose rows.

const Original = globalThis.Worker;
globalThis.Worker = class extends Original {
  constructor(url: string | URL, options?: WorkerOptions) {
    const isWriter = String(url).endsWith("/store/sqlite/worker.ts");
    super(isWriter ? new URL("./relaxed-worker.ts", import.meta.url).href : url, options);
  }
};

await import("../../src/main.ts");
