import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createModels } from "../../src/cli/create-model.ts";
import { readEnv } from "../../src/config/env.ts";
import { type FakeAnswer, type FakeScript, startFakeOpenAi } from "../support/fake-openai.ts";
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
async function connect(script: FakeScript, variables: Record<string, string>, folder = fresh(), more = {}) {
  const endpoint = await startFakeOpenAi({ script });
  const raw = {
    OPENAI_BASE_URL: endpoint.url,
    OPENAI_API_KEY: "test-key",
    HUNKWISE_MODEL: "big",
    ...variables,
  };
  const { model } = readEnv(raw);
  const warnings: string[] = [];
  const ends: string[] = [];
  const again = () =>
    createModels(model!, {
      ...{ pricesFile: null, folder, warn: (text) => warnings.push(text) },
      ...more,
      onRequest: (name, end) => ends.push("failed" in end ? `${name} ${end.failed}` : name),
    });
  return {
    endpoint,
    folder,
    warnings,
    ends,
    again,
    ...(await again()),
    [Symbol.asyncDispose]: endpoint.close,
  };
}

describe("The models of the environment", () => {
  it("The models are asked by role under their own names, and one for all roles is one", async () => {
    const variables = {
      HUNKWISE_PROTOCOL: "native",
      HUNKWISE_VERIFY_MODEL: "small",
      HUNKWISE_REASONING_EFFORT: "low",
    };
    await using set = await connect(() => ({ content: "ok" }), variables);
    await set.ready(never);
    for (const model of [set.models.review, set.models.verify]) {
      await model.respond(request, never);
    }

    expect(set.endpoint.requests.map(({ body }) => body.model)).toEqual(["big", "small"]);
    expect(set.endpoint.requests.map(({ body }) => body.reasoning_effort)).toEqual(["low", "low"]);
    expect(set.endpoint.complaints).toEqual([]);
  });

  it("The models are probed once, and not again by the next process", async () => {
    const asJson = { content: JSON.stringify({ calls: [sum(2, 3), sum(20, 30)] }) };
    const probed: string[] = [];
    const onProbe = (name: string) => probed.push(name);
    await using set = await connect([{ content: "5" }, asJson, { content: "Looking." }], {}, fresh(), {
      onProbe,
    });
    await set.ready(never);
    expect(set.models.review.protocol).toBe("text");
    expect(set.endpoint.requests).toHaveLength(2);

    const next = await set.again();
    await next.ready(never);
    await next.models.review.respond(request, never);
    expect(set.endpoint.requests).toHaveLength(3);
    expect(set.endpoint.requests[2]?.body.tools).toBeUndefined();
    expect(next.models.review.protocol).toBe("text");
    expect(probed).toEqual(["big"]);
    expect(set.warnings).toEqual([]);
  });

  it("The models are used although the probe failed, and the next process probes them again", async () => {
    const gone = { fault: "status", status: 400, body: { error: { message: "no such thing" } } } as const;
    await using set = await connect([gone, gone, { tool_calls: [sum(2, 3)] }], {});
    await set.ready(never);
    expect(set.models.review.protocol).toBe("native");
    expect(set.warnings).toEqual([expect.stringMatching(/^The probe of big failed, .* no such thing/)]);
    expect(existsSync(set.folder)).toBe(false);
    await (await set.again()).ready(never);
    expect(set.endpoint.requests).toHaveLength(3);
    expect(set.warnings).toHaveLength(1);
  });

  it("A model that fails the first question of a command is asked nothing more, with one warning", async () => {
    const refused = { fault: "status", status: 401 } as const;
    await using set = await connect([refused], {}, fresh(), { forOneRun: true });
    await set.ready(never);
    for (const model of [set.models.review, set.models.verify])
      await expect(model.respond(request, never)).rejects.toMatchObject({ code: "model_unauthorized" });
    expect(set.endpoint.requests).toHaveLength(1);
    expect(set.warnings).toEqual([]);
  });

  it("The fallback answers a command whose first question the other model failed", async () => {
    const script: FakeScript = ({ model, messages }) => {
      if (model === "big")
        return { fault: "status", status: 404, body: { error: { message: "no such model" } } };
      const isProbe = JSON.stringify(messages).includes("add_numbers");
      return isProbe ? { tool_calls: [sum(2, 3), sum(20, 30)] } : { content: "Done." };
    };
    const variables = { HUNKWISE_FALLBACK_MODEL: "spare" };
    await using set = await connect(script, variables, fresh(), { forOneRun: true });
    await set.ready(never);
    for (const _ of [1, 2]) expect((await set.models.review.respond(request, never)).content).toBe("Done.");
    expect(set.endpoint.requests.map(({ body }) => body.model)).toEqual(["big", "spare", "spare", "spare"]);
    expect(set.warnings).toEqual([expect.stringMatching(/^spare answers instead of big: .* no model "big"/)]);
  });

  it("The models are not asked before their first use if the protocol is configured", async () => {
    await using set = await connect([], { HUNKWISE_PROTOCOL: "text" });
    await set.ready(never);
    expect(set.models.verify.protocol).toBe("text");
    expect(set.endpoint.requests).toEqual([]);
    expect(existsSync(set.folder)).toBe(false);
  });

  it("The models are left alone by the whole process while their provider asks for a pause", async () => {
    const limited = { fault: "status", status: 429, headers: { "retry-after": "600" } } as const;
    await using set = await connect([limited], { HUNKWISE_PROTOCOL: "native" });
    const outage = { code: "model_unavailable", retryable: true };
    await expect(set.models.review.respond(request, never)).rejects.toMatchObject(outage);
    await expect(set.models.verify.respond(request, never)).rejects.toMatchObject(outage);
    expect(set.endpoint.requests).toHaveLength(1);
    expect(set.warnings).toEqual([expect.stringMatching(/^The model "big" at 127.+ paused for 600 s/)]);
  });

  it("A fallback at the same endpoint answers for a limited model, with its own protocol and price", async () => {
    const prices = { HUNKWISE_PROTOCOL: "native", HUNKWISE_FALLBACK_MODEL: "gpt-5-nano" };
    const call = { calls: [{ name: "look", arguments: {} }] };
    const asJson = { content: JSON.stringify({ calls: [sum(2, 3), sum(20, 30)] }) };
    const answers: Record<string, FakeAnswer[]> = {
      big: [{ fault: "status", status: 429, headers: { "retry-after": "600" } }],
      "gpt-5-nano": [{ content: "5" }, asJson, { content: JSON.stringify(call) }],
    };
    await using set = await connect(({ model }) => answers[model]?.shift() ?? { content: "none" }, prices);
    await set.ready(never);
    expect(set.endpoint.requests).toEqual([]);

    const turn = await set.models.review.respond(request, never);
    expect(turn).toMatchObject({ toolCalls: [{ name: "look" }], usage: { answeredBy: "gpt-5-nano" } });
    expect(turn.usage.costUsd).toBeGreaterThan(0);
    expect(set.ends).toEqual(["big model_unavailable", "gpt-5-nano", "gpt-5-nano", "gpt-5-nano"]);
    expect(set.endpoint.complaints).toEqual([]);
  });

  it("A fallback at another endpoint gets neither the key nor the thoughts of the first", async () => {
    const called = { id: "a", type: "function", function: { name: "look", arguments: "{}" } };
    const message = { content: "", reasoning_content: "my thoughts", tool_calls: [called] };
    await using spare = await startFakeOpenAi({ apiKey: "spare-key", script: () => ({ content: "yes" }) });
    const limited = { fault: "status", status: 429, headers: { "retry-after": "600" } } as const;
    await using set = await connect([{ fault: "json", body: { choices: [{ message }] } }, limited], {
      HUNKWISE_PROTOCOL: "native",
      HUNKWISE_FALLBACK_MODEL: "spare",
      HUNKWISE_FALLBACK_BASE_URL: spare.url,
      HUNKWISE_FALLBACK_API_KEY: "spare-key",
    });
    const first = await set.models.review.respond(request, never);
    expect(JSON.stringify(first)).toContain("my thoughts");
    const { content, toolCalls, extras } = first;
    const messages = [
      ...request.messages,
      { role: "assistant" as const, content, toolCalls, extras },
      { role: "tool" as const, callId: "a", content: "seen" },
    ];
    const turn = await set.models.review.respond({ ...request, messages }, never);
    expect(turn).toMatchObject({ content: "yes", usage: { answeredBy: "spare" } });
    expect(JSON.stringify(spare.requests)).not.toMatch(/my thoughts|test-key/);
    expect(spare.complaints).toEqual([]);
  });

  const limited = { fault: "status", status: 429, headers: { "retry-after": "600" } } as const;
  it.each<[string, FakeAnswer | null]>([
    ["refuses the key", { fault: "status", status: 401 }],
    ["does not know the model", { fault: "status", status: 404 }],
    ["refuses the request", { fault: "status", status: 400 }],
    ["is overloaded", limited],
    ["is gone", null],
  ])("The reviewing model verifies if another endpoint %s, and behind it the fallback", async (_, fault) => {
    await using other = await startFakeOpenAi({ apiKey: "verify-key", script: () => fault ?? limited });
    if (fault === null) await other.close();
    let isDown = false;
    const script: FakeScript = ({ model }) =>
      model === "spare" ? { tool_calls: [sum(2, 3), sum(20, 30)] } : isDown ? limited : { content: "yes" };
    await using set = await connect(
      script,
      {
        HUNKWISE_PROTOCOL: "native",
        HUNKWISE_FALLBACK_MODEL: "spare",
        HUNKWISE_VERIFY_MODEL: "big",
        HUNKWISE_VERIFY_BASE_URL: other.url,
        HUNKWISE_VERIFY_API_KEY: "verify-key",
      },
      fresh(),
      { forOneRun: true },
    );
    await set.ready(never);
    const turn = await set.models.verify.respond(request, never);
    expect(turn).toMatchObject({ content: "yes", usage: { answeredBy: "big" } });
    isDown = true;
    expect((await set.models.verify.respond(request, never)).usage.answeredBy).toBe("spare");
    expect(set.warnings).toContainEqual(expect.stringMatching(/^big answers instead of big: /));
    const keysAt = ({ requests }: typeof other) => [
      ...new Set(requests.map(({ headers }) => headers.authorization)),
    ];
    expect(keysAt(other)).toEqual(fault ? ["Bearer verify-key"] : []);
    expect(keysAt(set.endpoint)).toEqual(["Bearer test-key"]);
    expect([...other.complaints, ...set.endpoint.complaints]).toEqual([]);
  });

  it("A bad price table is refused", async () => {
    const { model } = readEnv({ OPENAI_API_KEY: "k" });
    const options = { pricesFile: join(root.path, "none.json"), folder: null, warn: () => {} };
    await expect(createModels(model!, options)).rejects.toThrow(/HUNKWISE_PRICES cannot be read/);
  });
});
