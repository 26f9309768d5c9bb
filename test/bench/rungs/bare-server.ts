// Minimal compiled server: one constant response, on the port in the environment.
Bun.serve({ hostname: "127.0.0.1", port: Number(process.env.PORT), fetch: () => new Response("ready") });
