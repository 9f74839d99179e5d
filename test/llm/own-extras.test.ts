import { describe, expect, it } from "vitest";
import type { Message, ModelRequest, ModelTurn } from "../../src/llm/model.ts";
import { withOwnExtras } from "../../src/llm/own-extras.ts";

const never = new AbortController().signal;
const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1, costUsd: null };
const thinking = { reasoning_content: "signed and sealed" };
const signature = { extra_content: { google: { thought_signature: "abc" } } };

/** A model whose turns carry extras; it keeps what it was sent. */
function thinker(key: string) {
  const requests: ModelRequest[] = [];
  const turn: ModelTurn = {
    content: key,
    toolCalls: [{ id: `call_${key}`, name: "look", arguments: "{}", extras: signature }],
    finishReason: "tool_calls",
    usage,
    extras: thinking,
  };
  const model = withOwnExtras(
    {
      ...{ name: key, contextTokens: 1_000, protocol: "native" as const },
      async respond(request) {
        requests.push(request);
        return turn;
      },
    },
    key,
  );
  return { model, requests };
}

const ask = (messages: Message[]) => ({ messages, tools: [], maxOutputTokens: 10 });
const said = ({ content, toolCalls, extras }: ModelTurn): Message => ({
  ...{ role: "assistant", content, toolCalls },
  ...(extras ? { extras } : {}),
});

describe("what a provider wants back of its answers", () => {
  it("goes back to the model that gave it, as it was, and to no other", async () => {
    const [one, other] = [thinker("one"), thinker("other")];
    const first = await one.model.respond(ask([]), never);
    const second = await other.model.respond(ask([said(first)]), never);
    // As a record of the conversation gives it back.
    const replayed = JSON.parse(JSON.stringify([said(first), said(second)])) as Message[];
    await one.model.respond(ask(replayed), never);

    expect(JSON.stringify(other.requests[0])).not.toMatch(/sealed|abc/);
    const [own, foreign] = one.requests[1]?.messages ?? [];
    expect(own).toMatchObject({ extras: thinking, toolCalls: [{ id: "call_one", extras: signature }] });
    expect(JSON.stringify(foreign)).not.toMatch(/sealed|abc/);
    expect(foreign).toMatchObject({ content: "other", toolCalls: [{ id: "call_other", arguments: "{}" }] });
  });

  it("of a record without names goes to nobody", async () => {
    const { model, requests } = thinker("one");
    await model.respond(ask([{ role: "assistant", content: "", toolCalls: [], extras: thinking }]), never);
    expect(JSON.stringify(requests)).not.toContain("sealed");
  });
});
