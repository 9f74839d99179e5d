import { describe, expect, it } from "vitest";
import { findContextTokens } from "../../../src/agent/llm/probe.ts";

const never = new AbortController().signal;

/** The window of model "m" at an endpoint that has these answers by address; strings are sent as they are. */
async function windowAt(base: string, answers: Record<string, unknown>, signal = never) {
  const asked: { url: string; key: string | null }[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    asked.push({ url: String(input), key: new Headers(init?.headers).get("authorization") });
    init?.signal?.throwIfAborted();
    const answer = answers[String(input)];
    if (answer === undefined) throw new TypeError("fetch failed");
    return typeof answer === "string" ? new Response(answer) : Response.json(answer);
  };
  const place = {
    url: new URL(base),
    model: "m",
    headers: { authorization: "Bearer k", "api-key": null },
    fetch,
  };
  return { tokens: await findContextTokens(place, signal), asked };
}

describe("the context window that an endpoint reports", () => {
  const base = "http://127.0.0.1:1234/v1";
  it.each<[string, Record<string, unknown>]>([
    [
      "Groq",
      {
        [`${base}/models`]: {
          data: [
            { id: "other", context_window: 1 },
            { id: "m", context_window: 32_768 },
          ],
        },
      },
    ],
    [
      "LM Studio, as it is loaded and not as it could be",
      {
        "http://127.0.0.1:1234/api/v0/models": {
          data: [{ id: "m", max_context_length: 131_072, loaded_context_length: 32_768 }],
        },
      },
    ],
    [
      "LiteLLM",
      {
        "http://127.0.0.1:1234/model/info": {
          data: [{ model_name: "m", model_info: { max_input_tokens: 32_768 } }],
        },
      },
    ],
    [
      "llama.cpp's list where nothing says how it runs",
      { [`${base}/models`]: { data: [{ id: "whatever", meta: { n_ctx_train: 32_768 } }] } },
    ],
  ])("The reported context window is that of %s", async (_, answers) =>
    expect((await windowAt(base, answers)).tokens).toBe(32_768),
  );

  it.each<[string, unknown]>([
    ["a web page", "<!doctype html><html></html>"],
    ["another model", { data: [{ id: "n", max_model_len: 4_096 }, { id: "o" }] }],
    [
      "a size that is none",
      { data: [{ id: "m", max_model_len: "4096", context_length: 0, context_window: -1 }] },
    ],
    ["a size that nobody has", { data: [{ id: "m", max_model_len: 1e15 }] }],
    ["something else", { data: { m: 4_096 } }],
  ])("The reported context window is not known from %s", async (_, answer) => {
    expect((await windowAt(base, { [`${base}/models`]: answer })).tokens).toBeNull();
  });

  it("The reported context window is asked for with the key", async () => {
    const { asked } = await windowAt("https://llm.corp.example/gateway/v1", {});
    expect(asked.length).toBeGreaterThan(3);
    for (const { url, key } of asked) {
      expect(url).toMatch(/^https:\/\/llm\.corp\.example\/gateway\//);
      expect(key).toBe("Bearer k");
    }
  });

  it("The window is not looked for beside a large provider's API", async () => {
    for (const base of ["https://api.openai.com/v1", "https://corp.openai.azure.com/openai/v1"]) {
      expect((await windowAt(base, {})).asked).toHaveLength(1);
    }
  });

  it("The reported context window is no longer waited for when that is aborted", async () => {
    await expect(windowAt(base, {}, AbortSignal.abort())).rejects.toMatchObject({ code: "aborted" });
  });
});
