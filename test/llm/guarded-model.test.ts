import { describe, expect, it } from "vitest";
import { AppError } from "../../src/errors.ts";
import { createModelGuard } from "../../src/llm/guarded-model.ts";
import { EndpointUnreachable, type Message, type ModelRequest, type ModelTurn } from "../../src/llm/model.ts";
import { type ScriptedTurn, scriptedModel } from "../../src/llm/scripted.ts";

const never = new AbortController().signal;
const ask = { messages: [], tools: [], maxOutputTokens: 1 };
const overloaded = new AppError("model_failed", "503", { retryable: true });
const gone = new EndpointUnreachable("model_failed", "ECONNREFUSED", { retryable: true });

function setUp() {
  const warnings: string[] = [];
  const ends: string[] = [];
  const { guard } = createModelGuard({
    ...{ now: () => 0, random: () => 1, warn: (text: string) => warnings.push(text) },
    onRequest: (name, end) => ends.push("failed" in end ? `${name} ${end.failed}` : name),
  });
  const at = (url: string | null, name: string, ...turns: (ScriptedTurn | Error)[]) =>
    guard(scriptedModel([...turns, ...Array(9).fill({ content: "ok" })], { name }), url, name);
  return { at, guard, ends, warnings };
}

const codes = async (...models: ReturnType<ReturnType<typeof setUp>["at"]>[]) => {
  const ends: string[] = [];
  for (const model of models)
    ends.push(
      await model.respond(ask, never).then(
        () => "ok",
        (error: AppError) => error.code,
      ),
    );
  return ends;
};

describe("the circuits of a process", () => {
  it("leave one model alone that is overloaded, and go on with the others of its endpoint", async () => {
    const { at, ends, warnings } = setUp();
    const big = at("https://host/v1", "big", overloaded, overloaded, overloaded);
    const small = at("https://host/v1", "small");
    expect(await codes(big, big, big, big, small)).toEqual([
      ...["model_failed", "model_failed", "model_unavailable", "model_unavailable"],
      "ok",
    ]);
    expect(warnings).toEqual([expect.stringMatching(/^The model "big" at host is paused for 15 s/)]);
    expect(ends.slice(2)).toEqual(["big model_unavailable", "big model_unavailable", "small"]);
  });

  it("leave an endpoint alone that is gone, whichever of its models found out, and go on with another", async () => {
    const { at, warnings } = setUp();
    const big = at("https://host/secret/v1", "big", gone, gone);
    const small = at("https://host/secret/v1", "small", gone);
    expect(await codes(big, small, big, small, big, at(null, "big"))).toEqual([
      ...["model_failed", "model_failed", "model_unavailable", "model_unavailable", "model_unavailable"],
      "ok",
    ]);
    expect(warnings).toEqual([expect.stringMatching(/^The endpoint at host is paused for 15 s/)]);
  });
});

const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1, costUsd: null };
const thinking = { reasoning_content: "signed and sealed" };
const signature = { extra_content: { google: { thought_signature: "abc" } } };

/** A model whose turns carry extras; it keeps what it was sent. */
function thinker(key: string, { guard } = setUp()) {
  const requests: ModelRequest[] = [];
  const turn: ModelTurn = {
    content: key,
    toolCalls: [{ id: `call_${key}`, name: "look", arguments: "{}", extras: signature }],
    finishReason: "tool_calls",
    usage,
    extras: thinking,
  };
  const model = guard(
    {
      ...{ name: key, contextTokens: 1_000, protocol: "native" },
      async respond(request) {
        requests.push(request);
        return turn;
      },
    },
    null,
    key,
  );
  return { model, requests };
}

const asking = (messages: Message[]) => ({ messages, tools: [], maxOutputTokens: 10 });
const said = ({ content, toolCalls, extras }: ModelTurn): Message => ({
  ...{ role: "assistant", content, toolCalls },
  ...(extras ? { extras } : {}),
});

describe("what a provider wants back of its answers", () => {
  it("goes back to the model that gave it, as it was, and to no other", async () => {
    const [one, other] = [thinker("one"), thinker("other")];
    const first = await one.model.respond(asking([]), never);
    const second = await other.model.respond(asking([said(first)]), never);
    // As a record of the conversation gives it back.
    const replayed = JSON.parse(JSON.stringify([said(first), said(second)])) as Message[];
    await one.model.respond(asking(replayed), never);

    expect(JSON.stringify(other.requests[0])).not.toMatch(/sealed|abc/);
    const [own, foreign] = one.requests[1]?.messages ?? [];
    expect(own).toMatchObject({ extras: thinking, toolCalls: [{ id: "call_one", extras: signature }] });
    expect(JSON.stringify(foreign)).not.toMatch(/sealed|abc/);
    expect(foreign).toMatchObject({ content: "other", toolCalls: [{ id: "call_other", arguments: "{}" }] });
  });

  it("of a record without names goes to nobody", async () => {
    const { model, requests } = thinker("one");
    await model.respond(asking([{ role: "assistant", content: "", toolCalls: [], extras: thinking }]), never);
    expect(JSON.stringify(requests)).not.toContain("sealed");
  });
});
