import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { createOpenAiEmbeddings, type EmbeddingsOptions } from "../../../src/agent/llm/openai-embeddings.ts";
import { AppError } from "../../../src/core/errors.ts";
import { type FakeEmbeddingsOptions, startFakeEmbeddings } from "../../support/fake-embeddings.ts";

const KEY = "sk-secret-1234567890";
const never = new AbortController().signal;

async function setUp(server: FakeEmbeddingsOptions = {}, more: Partial<EmbeddingsOptions> = {}) {
  const endpoint = await startFakeEmbeddings({ apiKey: KEY, ...server });
  const model = createOpenAiEmbeddings({
    ...{ apiKey: KEY, baseUrl: endpoint.url, model: "small", timeoutMs: 5_000, maxRetries: 2 },
    firstPauseMs: 1,
    ...more,
  });
  return { endpoint, model, [Symbol.asyncDispose]: endpoint[Symbol.asyncDispose] };
}

async function failure(promise: Promise<unknown>): Promise<AppError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AppError);
  expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(KEY);
  return error as AppError;
}

describe("an embedding model", () => {
  it("An embedding model answers one for each text in their order", async () => {
    await using set = await setUp({ deviate: (whole) => ({ ...whole, data: whole.data.toReversed() }) });

    const { vectors, tokens } = await set.model.embed(["alpha beta", "gamma", "alpha beta"], never);

    expect(vectors).toHaveLength(3);
    expect(vectors[0]).toEqual(vectors[2]);
    expect(vectors[0]).not.toEqual(vectors[1]);
    expect(tokens).toBe(3 + 2 + 3);
    expect(set.endpoint.requests[0]?.body).toEqual({
      ...{ model: "small", encoding_format: "float" },
      input: ["alpha beta", "gamma", "alpha beta"],
    });
    expect(set.endpoint.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  });

  it("An embedding model sends nothing for no texts", async () => {
    await using set = await setUp();
    expect(await set.model.embed([], never)).toEqual({ vectors: [], tokens: 0 });
    expect(set.endpoint.requests).toEqual([]);
  });

  it("An embedding model tries again if the endpoint is busy or cuts the line", async () => {
    const faults = [{ status: 429, headers: { "retry-after-ms": "5" } }, "reset"] as const;
    await using set = await setUp({ fault: (n) => faults[n] ?? null });

    const { vectors } = await set.model.embed(["again"], never);

    expect(vectors).toHaveLength(1);
    expect(set.endpoint.requests).toHaveLength(3);
  });

  it.each([
    ["has no path", { status: 404 }, "model_refused", "does not support embeddings (404)"],
    ["refuses the key", { status: 401 }, "model_unauthorized", "refused the API key (401)"],
    ["refuses the request", { status: 400 }, "model_refused", "refused the request (400)"],
  ] as const)(
    "An embedding model fails at once where the endpoint %s, and names its own variable",
    async (_, fault, code, words) => {
      await using set = await setUp({ fault: () => fault });

      const error = await failure(set.model.embed(["x"], never));

      expect(error).toMatchObject({ code, message: expect.stringContaining(words) });
      expect(error.remedy).toContain("HUNKWISE_EMBEDDING_MODEL");
      expect(set.endpoint.requests).toHaveLength(1);
    },
  );

  it.each([
    ["too few vectors", (whole: { data: unknown[] }) => ({ ...whole, data: whole.data.slice(1) })],
    ["too many", (whole: { data: unknown[] }) => ({ ...whole, data: [...whole.data, ...whole.data] })],
    [
      "two for one text",
      (whole: { data: object[] }) => ({ ...whole, data: whole.data.map((one) => ({ ...one, index: 0 })) }),
    ],
    [
      "vectors of several lengths",
      (whole: { data: object[] }) => ({
        data: whole.data.map((one, at) => ({ ...one, embedding: at === 0 ? [1] : [1, 2] })),
      }),
    ],
    ["a conversation", () => ({ choices: [] })],
  ])("An embedding model takes no answer that holds %s", async (_, deviate) => {
    await using set = await setUp({ deviate: deviate as NonNullable<FakeEmbeddingsOptions["deviate"]> });
    expect(await failure(set.model.embed(["one", "two"], never))).toMatchObject({ code: "model_failed" });
  });

  it("An embedding model takes vectors without numbers of their own in the order they come in", async () => {
    const deviate: FakeEmbeddingsOptions["deviate"] = ({ data }) => ({
      data: data.map(({ embedding }) => ({ embedding })),
    });
    await using set = await setUp({ deviate });

    const { vectors, tokens } = await set.model.embed(["123456", "123"], never);

    expect(vectors).toHaveLength(2);
    expect(tokens).toBe(3);
  });

  it("An embedding model ends when it is aborted", async () => {
    await using set = await setUp();
    const ending = new AbortController();
    ending.abort();
    expect(await failure(set.model.embed(["x"], ending.signal))).toMatchObject({ code: "aborted" });
  });

  it("An embedding model has another name at another endpoint or for another model", async () => {
    await using set = await setUp();
    const other = createOpenAiEmbeddings({
      ...{ apiKey: KEY, baseUrl: "https://example.com/v1", model: "small", timeoutMs: 1, maxRetries: 0 },
    });
    expect(set.model.name).not.toBe(other.name);
    expect(set.model.name).not.toContain(KEY);
  });
});
