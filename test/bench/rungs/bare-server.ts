// The least that a compiled server can be: one answer to everything, on the port of the environment.
Bun.serve({ hostname: "127.0.0.1", port: Number(process.env.PORT), fetch: () => new Response("ready") });
