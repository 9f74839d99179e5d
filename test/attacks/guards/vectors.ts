import type { Guard } from "../guard.ts";

const test = "test/graph/vectors.test.ts";
const noSecret = "send no secret: neither one that shows by its form nor one of this server";

export const guards: readonly Guard[] = [
  {
    guard: "what vectors are made of holds no secret",
    row: "secret-in-output",
    file: "src/graph/embed-chunks.ts",
    from: "const clean = masks.forPeople(masks.mask(text));",
    to: "const clean = text.text;",
    also: [
      {
        file: "src/llm/openai-embeddings.ts",
        from: "(holdsPlainSecret(text) ? withoutLiveSecrets(text) : text)",
        to: "text",
      },
    ],
    test,
    title: noSecret,
  },
  {
    guard: "what the graph is asked holds no secret when it is sent for a vector",
    row: "secret-in-output",
    file: "src/graph/vectors.ts",
    from: "const asked = masks.forPeople(masks.mask(await masks.learn(query)));",
    to: "const asked = query;",
    test,
    title: noSecret,
  },
];
