// Upstream that returns the URL of a picture at once, in OpenAI's format: `bun picture-upstream.ts PORT`.
const ANSWER = JSON.stringify({ created: 1_767_225_600, data: [{ url: "http://127.0.0.1/picture.jpg" }] });

Bun.serve({
  ...{ hostname: "127.0.0.1", port: Number(process.argv[2]) },
  fetch: async (request) => {
    // LiteLLM lists the models of its providers at its start.
    if (request.method === "GET") return Response.json({ object: "list", data: [] });
    const asked = (await request.json()) as { prompt?: unknown };
    if (typeof asked.prompt !== "string") return Response.json({ error: { message: "a prompt is missing" } }, { status: 400 });
    return new Response(ANSWER, { headers: { "content-type": "application/json" } });
  },
});
