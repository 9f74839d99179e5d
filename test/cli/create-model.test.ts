import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createModels } from "../../src/cli/create-model.ts";
import { readEnv } from "../../src/config/env.ts";
import { type FakeScript, startFakeOpenAi } from "../support/fake-openai.ts";
import { TempFolder } from "../support/git-repo.ts";

const root = new TempFolder("create-model");
afterAll(() => root.dispose());
let count = 0;
const fresh = () => join(root.path, String(count++));
const never = new AbortController().signal;
const request = {
  messages: [{ role: "user" as const, content: "Review this." }],
  tools: [{ name: "look", description: "Looks.", parameters: { type: "object", properties: {} } }],
  maxOutputTokens: 2_000,
};
const sum = (a: number, b: number) => ({ name: "add_numbers", arguments: { a, b } });

/** Models at an endpoint that follows a script, as the variables name them. */
async function connect(script: FakeScript, variables: Record<string, string>, folder = fresh()) {
  const endpoint = await startFakeOpenAi({ script });
  const raw = {
    OPENAI_BASE_URL: endpoint.url,
    OPENAI_API_KEY: "test-key",
    HUNKWISE_MODEL: "big",
    ...variables,
  };
  const { model } = readEnv(raw);
  const warnings: string[] = [];
  const again = () => createModels(model!, { pricesFile: null, folder, warn: (text) => warnings.push(text) });
  return { endpoint, folder, warnings, again, ...(await again()), [Symbol.asyncDispose]: endpoint.close };
}

describe("the models of the environment", () => {
  it("are asked by role, each under its own name, and one for all roles is one", async () => {
    const variables = {
      HUNKWISE_PROTOCOL: "native",
      HUNKWISE_VERIFY_MODEL: "small",
      HUNKWISE_REASONING_EFFORT: "low",
    };
    await using set = await connect(() => ({ content: "ok" }), variables);
    await set.ready(never);
    for (const model of [set.models.review, set.models.verify, set.models.summarize]) {
      await model.respond(request, never);
    }

    expect(set.endpoint.requests.map(({ body }) => body.model)).toEqual(["big", "small", "big"]);
    expect(set.endpoint.requests.map(({ body }) => body.reasoning_effort)).toEqual(["low", "low", "low"]);
    expect(set.models.summarize).toBe(set.models.review);
    expect(set.endpoint.complaints).toEqual([]);
  });

  it("are asked once what they can do, and by the next process no more", async () => {
    const asJson = { content: JSON.stringify({ calls: [sum(2, 3), sum(20, 30)] }) };
    await using set = await connect([{ content: "5" }, asJson, { content: "Looking." }], {});
    await set.ready(never);
    expect(set.models.review.protocol).toBe("text");
    expect(set.endpoint.requests).toHaveLength(2);

    const next = await set.again();
    await next.ready(never);
    await next.models.review.respond(request, never);
    expect(set.endpoint.requests).toHaveLength(3);
    expect(set.endpoint.requests[2]?.body.tools).toBeUndefined();
    expect(next.models.review.protocol).toBe("text");
    expect(set.warnings).toEqual([]);
  });

  it("are used although they could not be asked, and are asked again by the next process", async () => {
    const gone = { fault: "status", status: 400, body: { error: { message: "no such template" } } } as const;
    await using set = await connect([gone, { tool_calls: [sum(2, 3)] }], {});
    await set.ready(never);
    expect(set.models.review.protocol).toBe("native");
    expect(set.warnings).toEqual([expect.stringMatching(/^big could not be asked .* no such template/)]);
    expect(existsSync(set.folder)).toBe(false);
    await (await set.again()).ready(never);
    expect(set.endpoint.requests).toHaveLength(2);
    expect(set.warnings).toHaveLength(1);
  });

  it("cost nothing before they are asked: neither a probe nor a request where the protocol is configured", async () => {
    await using set = await connect([], { HUNKWISE_PROTOCOL: "single-shot" });
    await set.ready(never);
    expect(set.models.verify.protocol).toBe("single-shot");
    expect(set.endpoint.requests).toEqual([]);
    expect(existsSync(set.folder)).toBe(false);
  });

  it("of a bad price table are none", async () => {
    const { model } = readEnv({ OPENAI_API_KEY: "k" });
    const options = { pricesFile: join(root.path, "none.json"), folder: null, warn: () => {} };
    await expect(createModels(model!, options)).rejects.toThrow(/HUNKWISE_PRICES cannot be read/);
  });
});
